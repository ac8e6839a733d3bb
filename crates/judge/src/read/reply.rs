//! A reply with the data that its readers share.

use std::cell::OnceCell;

use super::echo::Echo;
use super::fence::Fences;
use super::page::Page;
use super::quoted::Quoted;
use super::window::Window;

/// A reply by lines, with its fenced and echoed parts.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    pub(super) window: Window<'a>,
    /// The same part without escape sequences; its lines match those of the window.
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

    /// Returns a line number for people: from 1, in the whole reply.
    pub(super) fn number(&self, line: usize) -> u32 {
        u32::try_from(self.window.lines_before + line + 1).unwrap_or(u32::MAX)
    }

    /// Returns true if a line only repeats the prompt. The last line never does (H-37).
    pub(super) fn is_echo(&self, line: usize) -> bool {
        self.page.last_filled() != Some(line) && self.echo.covers(&self.page, line)
    }

    /// Returns true if these lines and a neighbouring line repeat the prompt. A value that equals an example of the
    /// prompt is an answer. With the words around the example, it is an echo.
    pub(super) fn is_echo_in_context(&self, first: usize, last: usize) -> bool {
        let repeats = |from: usize, to: usize| {
            let mut filled = (from..=to).filter(|line| !self.page.line(*line).trim().is_empty());
            filled.all(|line| self.echo.covers(&self.page, line))
        };
        self.page.filled_before(first).is_some_and(|lead| repeats(lead, last))
            || self.page.filled_after(last).is_some_and(|trail| repeats(first, trail))
    }
}
