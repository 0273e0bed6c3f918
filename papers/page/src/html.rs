//! The page around the plots: one file, readable without a network, in light and dark, on wide
//! screens and narrow ones.

use super::finding::{Claimant, Finding, Holds};
use super::palette::Palette;
use super::plot::Plot;
use super::svg::{draw, escape, put};
use crate::table::Table;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What it is.
    pub title: String,
    /// Paragraphs under the title, with an empty line between them.
    pub introduction: String,
    /// Names that have a colour of their own in all plots.
    pub palette: Palette,
    /// What it was made with: names and values.
    pub facts: Vec<(String, String)>,
    /// The parts, in order.
    pub sections: Vec<Section>,
}

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Names the part in links.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// The question that it answers, and where it comes from.
    pub question: String,
    /// The command that makes it again, if this part has one of its own.
    pub command: String,
    /// What was found, for the summary too.
    pub findings: Vec<Finding>,
    /// To look at.
    pub plots: Vec<Plot>,
    /// To look up, each with a title.
    pub tables: Vec<(String, Table)>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

impl Page {
    /// The whole file.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n",
            title = escape(&self.title),
        );
        for paragraph in self.introduction.split("\n\n") {
            put!(html; "<p>{}</p>\n", with_code(paragraph));
        }
        html += &self.summary();
        for section in &self.sections {
            section.write(&mut html, &self.palette);
        }
        html += "<section id=\"made-with\">\n<h2>Made with</h2>\n<div class=\"wide\"><table>\n";
        for (name, value) in &self.facts {
            put!(html; "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(name),
                escape(value));
        }
        html + "</table></div>\n</section>\n</main>\n</body>\n</html>\n"
    }

    /// What is on the page and how many of the claims hold there, and all findings, with links to
    /// where they come from.
    fn summary(&self) -> String {
        let mut counts = String::new();
        for about in Claimant::ALL.map(Some).into_iter().chain([None]) {
            let findings = || {
                let all = self.sections.iter().flat_map(|section| &section.findings);
                all.filter(|finding| finding.about == about)
            };
            let count = |holds| findings().filter(|finding| finding.holds == holds).count();
            let all = findings().count();
            if all > 0 {
                put!(counts; "<p>Of {all} {}, {} hold, {} hold in part and {} do not; {} were not \
                     tested at this size.</p>\n", about.map_or("claims", Claimant::words),
                    count(Holds::Yes), count(Holds::Partly), count(Holds::No),
                    count(Holds::Untested));
            }
        }
        let judged = [Holds::No, Holds::Partly].map(|holds| self.found(holds));
        let folded = [("not tested at this size", Holds::Untested), ("that hold", Holds::Yes)];
        let folded = folded.map(|(which, holds)| match self.found(holds) {
            none if none.is_empty() => none,
            all => format!("<details>\n<summary>The claims {which}</summary>\n{all}</details>\n"),
        });
        format!(
            "{}<section id=\"summary\">\n<h2>What holds and what does not</h2>\n{counts}{}{}\
             </section>\n",
            self.contents(),
            judged.concat(),
            folded.concat()
        )
    }

    /// A list of the parts, with what was found in each; nothing for a page of one part.
    fn contents(&self) -> String {
        if self.sections.len() < 2 {
            return String::new();
        }
        let mut html = "<nav id=\"contents\">\n<h2>Contents</h2>\n<ul>\n".to_owned();
        html += "<li><a href=\"#summary\">What holds and what does not</a></li>\n";
        for section in &self.sections {
            let (name, title) = (escape(&section.name), escape(&section.title));
            put!(html; "<li><a href=\"#{name}\">{title}</a> <small>");
            let counted = [Holds::Yes, Holds::Partly, Holds::No, Holds::Untested].map(|holds| {
                let count = section.findings.iter().filter(|of| of.holds == holds).count();
                let (class, word) = (holds.class(), holds.word_for(count));
                match count {
                    0 => String::new(),
                    _ => format!("<span class=\"{class}\">{count} {word}</span> "),
                }
            });
            put!(html; "{}</small></li>\n", counted.concat().trim_end());
        }
        html + "<li><a href=\"#made-with\">Made with</a></li>\n</ul>\n</nav>\n"
    }

    /// Findings of a verdict, with links to where they come from; nothing if there are none.
    fn found(&self, holds: Holds) -> String {
        let mut rows = String::new();
        for section in &self.sections {
            let (name, title) = (escape(&section.name), escape(&section.title));
            for finding in section.findings.iter().filter(|of| of.holds == holds) {
                let cells = finding.cells();
                put!(rows; "<tr><td><a href=\"#{name}\">{title}</a></td>{cells}</tr>\n");
            }
        }
        table_of_findings("<th>where</th>", &rows)
    }
}

/// Rows of findings with their head; nothing if there are none.
fn table_of_findings(first: &str, rows: &str) -> String {
    match rows {
        "" => String::new(),
        rows => format!(
            "<div class=\"wide\"><table class=\"findings\">\n<thead><tr>{first}<th>claim</th>\
             <th>measured</th><th>verdict</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        ),
    }
}

impl Finding {
    fn cells(&self) -> String {
        let reason = match self.reason.as_str() {
            "" => String::new(),
            reason => format!("<br><small>{}</small>", escape(reason)),
        };
        format!(
            "<td>{}</td><td>{}</td><td><span class=\"{}\">{}</span>{reason}</td>",
            escape(&self.claim),
            escape(&self.measured),
            self.holds.class(),
            self.holds.word()
        )
    }
}

impl Section {
    fn write(&self, html: &mut String, palette: &Palette) {
        put!(html; "<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n", escape(&self.name),
            escape(&self.title), escape(&self.question));
        let row = |finding: &Finding| format!("<tr>{}</tr>\n", finding.cells());
        *html += &table_of_findings("", &self.findings.iter().map(row).collect::<String>());
        for plot in &self.plots {
            put!(html; "<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", escape(&plot.title),
                draw(plot, palette));
        }
        for (title, table) in &self.tables {
            put!(html; "<h3>{}</h3>\n", with_code(title));
            write_table(html, table);
        }
        for note in &self.notes {
            put!(html; "<p>{}</p>\n", with_code(note));
        }
        if !self.command.is_empty() {
            let command = escape(&self.command);
            put!(html; "<p class=\"command\"><code>{command}</code></p>\n");
        }
        *html += "</section>\n";
    }
}

/// Escaped text; what is between backticks is code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').map(escape).zip([false, true].into_iter().cycle());
    parts
        .map(|(part, is_code)| if is_code { format!("<code>{part}</code>") } else { part })
        .collect()
}

fn write_table(html: &mut String, table: &Table) {
    let class = if table.width() > FITS_PAPER { "numbers dense" } else { "numbers" };
    *html += &format!("<div class=\"wide\"><table class=\"{class}\">\n");
    for (at, row) in table.rows().enumerate() {
        // A browser repeats the head on every page of paper.
        let (cell, part) = if at == 0 { ("th", "thead") } else { ("td", "tbody") };
        if at < 2 {
            put!(html; "{}<{part}>\n", if at == 0 { "" } else { "</thead>\n" });
        }
        let class = |text: &str| if text.chars().count() > LONG { " class=\"long\"" } else { "" };
        let cells =
            row.iter().map(|text| format!("<{cell}{}>{}</{cell}>", class(text), escape(text)));
        put!(html; "<tr>{}</tr>\n", cells.collect::<String>());
    }
    let last = match table.rows().count() {
        0 => "",
        1 => "</thead>\n",
        _ => "</tbody>\n",
    };
    *html += &format!("{last}</table></div>\n");
}

const STYLE: &str = include_str!("style.css");
/// Characters of a line of a table that fit a page of paper in the usual size.
const FITS_PAPER: usize = 100;
/// From so many characters on, what is in a cell is a sentence or a list: it has several lines.
const LONG: usize = 30;

#[cfg(test)]
mod tests {
    use super::super::plot::Axis;
    use super::*;

    fn page() -> Page {
        let mut table = Table::new(["filter", "bits"]);
        table.row(["<elastic>", "12.5"]);
        let finding = |holds| Finding::new("fills 95 %", "91 %", holds).because("the walk");
        Page {
            title: "Report".to_owned(),
            introduction: "All figures of `a < b`.".to_owned(),
            facts: vec![("processor".to_owned(), "a & b".to_owned())],
            palette: Palette::default(),
            sections: vec![Section {
                name: "fill".to_owned(),
                title: "How full".to_owned(),
                question: "How full does it get?".to_owned(),
                command: "cuculus-lab run fill".to_owned(),
                findings: vec![finding(Holds::No), finding(Holds::Yes)],
                plots: vec![
                    Plot::new("load", Axis::linear("x"), Axis::linear("y"))
                        .line("s", [(1.0, 2.0), (2.0, 3.0)]),
                ],
                tables: vec![("numbers".to_owned(), table)],
                notes: vec!["a note".to_owned()],
            }],
        }
    }

    #[test]
    fn a_page_has_all_its_parts_and_needs_nothing_else() {
        let html = page().to_html();
        assert!(
            html.contains("Of 2 claims, 1 hold, 0 hold in part and 1 do not; 0 were not tested")
        );
        for part in ["id=\"fill\"", "&lt;elastic&gt;", "a &amp; b", "<svg", "cuculus-lab run fill"]
        {
            assert!(html.contains(part), "{part}");
        }
        for outside in ["http://", "https://", "src=", "<script", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
        for tag in
            ["section", "table", "div", "figure", "svg", "ul", "thead", "tbody", "details", "main"]
        {
            let opened = html.matches(&format!("<{tag}>")).count()
                + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
