//! Draws the output of a program on a terminal as an SVG picture.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

use crate::terminal::StyledCharacter;

const COLUMN: f64 = 8.4;
const ROW: f64 = 19.0;
const MARGIN: f64 = 16.0;
const TITLE_BAR: f64 = 28.0;

/// Draws lines of a screen, with the command that wrote them in the title bar.
pub fn picture(title: &str, columns: usize, lines: &[Vec<StyledCharacter>]) -> String {
    let mut lines = wrapped(lines, columns);
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    let width = 2.0 * MARGIN + COLUMN * columns as f64;
    let height = TITLE_BAR + 2.0 * MARGIN + ROW * lines.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         role=\"img\" aria-label=\"{}\" xml:space=\"preserve\">\n\
         <style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         white-space:pre;fill:#d7dae0}}</style>\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\" fill=\"#1d2026\"/>\n\
         <circle cx=\"18\" cy=\"16\" r=\"5\" fill=\"#e06c75\"/><circle cx=\"36\" cy=\"16\" r=\"5\" fill=\"#e5c07b\"/>\
         <circle cx=\"54\" cy=\"16\" r=\"5\" fill=\"#98c379\"/>\n\
         <text x=\"76\" y=\"21\" style=\"fill-opacity:.7\">{}</text>\n",
        escape(title),
        escape(title),
    );
    for (number, line) in lines.iter().enumerate() {
        let y = TITLE_BAR + MARGIN + ROW * (number as f64 + 0.7);
        let mut column = 0;
        for (style, text) in runs(line) {
            let columns = text.chars().map(|letter| letter.width().unwrap_or(0)).sum::<usize>();
            if !text.trim().is_empty() {
                let x = MARGIN + COLUMN * column as f64;
                // The length keeps columns aligned in every font.
                let length = COLUMN * columns as f64;
                let attributes = attributes(style);
                let text = escape(&text);
                writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\"{attributes}>{text}</text>"
                )
                .expect("a text");
            }
            column += columns;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Breaks lines at the width of the terminal, as a terminal does.
fn wrapped(lines: &[Vec<StyledCharacter>], columns: usize) -> Vec<Vec<StyledCharacter>> {
    let mut rows = Vec::new();
    for line in lines {
        let mut row: Vec<StyledCharacter> = Vec::new();
        let mut used = 0;
        for (letter, style) in line {
            let width = letter.width().unwrap_or(0);
            if used + width > columns {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            used += width;
            row.push((*letter, style.clone()));
        }
        rows.push(row);
    }
    rows
}

/// Joins neighbours of the same style.
fn runs(line: &[StyledCharacter]) -> Vec<(&str, String)> {
    let mut runs: Vec<(&str, String)> = Vec::new();
    for (letter, style) in line {
        match runs.last_mut() {
            Some((same, text)) if same == style => text.push(*letter),
            Some(_) | None => runs.push((style, letter.to_string())),
        }
    }
    runs
}

/// Returns the SVG attributes of select-graphic-rendition codes.
fn attributes(style: &str) -> String {
    let mut attributes = Vec::new();
    for code in style.split(';').filter(|code| !code.is_empty()) {
        let attribute = match code {
            "1" => "font-weight:bold",
            "2" => "fill-opacity:.6",
            "4" => "text-decoration:underline",
            "31" | "91" => "fill:#e06c75",
            "32" | "92" => "fill:#98c379",
            "33" | "93" => "fill:#e5c07b",
            "34" | "94" => "fill:#61afef",
            "35" | "95" => "fill:#c678dd",
            "36" | "96" => "fill:#56b6c2",
            other => panic!("a style we do not use: {other}"),
        };
        attributes.push(attribute);
    }
    // A style wins over the style sheet; a plain attribute would lose.
    if attributes.is_empty() { String::new() } else { format!(" style=\"{}\"", attributes.join(";")) }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::styled_screen;

    // U-22
    #[test]
    fn a_picture_keeps_text_styles_and_line_breaks() {
        let drawn = picture("demo", 4, &styled_screen("a<\u{1b}[1;32mok\u{1b}[0mx\r\n\r\n"));
        let texts: Vec<&str> = drawn.lines().filter(|line| line.contains("textLength")).collect();
        assert_eq!(
            texts,
            [
                "<text x=\"16.0\" y=\"57.3\" textLength=\"16.8\">a&lt;</text>",
                "<text x=\"32.8\" y=\"57.3\" textLength=\"16.8\" style=\"font-weight:bold;fill:#98c379\">ok</text>",
                "<text x=\"16.0\" y=\"76.3\" textLength=\"8.4\">x</text>",
            ]
        );
    }
}
