//! Tables for a paper, set by LaTeX.

use strewn_testing::Missing;

use crate::common::Folder;
use crate::tools::{needs, run};

const PAPER: &str = r"\documentclass{article}
\usepackage{booktabs}
\usepackage[a3paper,landscape]{geometry}
\begin{document}
\tiny
\input{run}

\input{compared}
\end{document}
";

pub fn tables_of_awkward_names_can_be_included_in_a_paper() -> Result<(), Missing> {
    needs(&["pdflatex"])?;
    let folder = Folder::new();
    for (file, named) in
        [("small.toml", "paper.toml"), ("small.published.toml", "small.published.toml")]
    {
        let awkward = r#""50%_A&B #1 ~^{[$<>|`""#;
        folder.write(named, &folder.read(file).replace("\"anywhere\"", awkward));
    }
    folder.strewn(&["run", "paper.toml", "--out", "one %"]).succeeded();
    let two = ["run", "paper.toml", "--seed", "9", "--out", "*two_&", "--format", "latex"];
    folder.write("run.tex", &folder.strewn(&two).succeeded());
    let compare = ["compare", "one %", "*two_&", "--format", "latex"];
    folder.write("compared.tex", &folder.strewn(&compare).succeeded());
    folder.write("paper.tex", PAPER);
    let log = run(
        &folder.path("."),
        "pdflatex",
        &["-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
    );
    assert!(folder.path("paper.pdf").exists(), "{log}");
    for problem in ["LaTeX Warning", "Missing character"] {
        assert!(!log.replace("LaTeX Warning: Label", "").contains(problem), "{log}");
    }
    Ok(())
}
