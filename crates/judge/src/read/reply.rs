//! A reply with everything its readers share.

use std::cell::OnceCell;

use super::echo::Echo;
use super::fence::Fences;
use super::page::Page;
use super::quoted::Quoted;
use super::window::Window;

/// A reply, line by line, and what of it is fenced or repeats the prompt.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    /// The part that is read, as it was said.
    pub(super) window: Window<'a>,
    /// The same without escape sequences; its lines are those of the window.
    pub(super) page: Page<'a>,
    pub(super) echo: Echo<'a>,
    fences: OnceCell<Fences<'a>>,
    quoted: OnceCell<Quoted>,
}

impl<'a> Reply<'a> {
    /// `plain` is the window's text without escape sequences.
    pub(super) fn new(window: Window<'a>, plain: &'a str, prompt: &'a str) -> Self {
        Self {
            window,
            page: Page::new(plain),
            echo: Echo::of(prompt),
            fences: OnceCell::new(),
            quoted: OnceCell::new(),
        }
    }

    pub(super) fn fences(&self) -> &Fences<'a> {
        self.fences.get_or_init(|| Fences::of(&self.page))
    }

    pub(super) fn quoted(&self) -> &Quoted {
        self.quoted.get_or_init(|| Quoted::of(&self.page))
    }

    /// The number of a line for people: from 1, in the whole reply.
    pub(super) fn number(&self, line: usize) -> u32 {
        u32::try_from(self.window.lines_before + line + 1).unwrap_or(u32::MAX)
    }

    /// Whether a line only repeats the prompt. The last one always speaks for itself (H-37).
    pub(super) fn is_echo(&self, line: usize) -> bool {
        self.page.last_filled() != Some(line) && self.echo.covers(&self.page, line)
    }

    /// Whether these lines and the one before or behind them repeat the prompt. A value that merely equals an
    /// example of the prompt is an answer; one that comes with the words around the example is not.
    pub(super) fn is_echo_in_context(&self, first: usize, last: usize) -> bool {
        let repeats = |from: usize, to: usize| {
            let mut filled = (from..=to).filter(|line| !self.page.line(*line).trim().is_empty());
            filled.all(|line| self.echo.covers(&self.page, line))
        };
        self.page.filled_before(first).is_some_and(|lead| repeats(lead, last))
            || self.page.filled_after(last).is_some_and(|trail| repeats(first, trail))
    }
}
