//! The provider from ralph's `cli` section (H-68).

use saihai_model::{OwnProtocol, OwnProvider};

use super::read::no_effect;
use crate::{Diagnostics, Fields, Located, Settings, quoted};

/// Backend whose program the file describes.
const CUSTOM: &str = "custom";
/// Backend that uses the Agent Client Protocol, with its command line.
const KIRO_ACP: (&str, [&str; 2]) = ("kiro-acp", ["kiro-cli", "acp"]);
/// Backends of ralph without a Saihai provider.
const UNSERVED: [&str; 5] = ["kiro", "amp", "pi", "roo", "forge"];
/// Keys that describe the program of `custom`.
const DESCRIBING: [&str; 4] = ["command", "args", "prompt_mode", "prompt_flag"];

#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) file: Option<&'a str>,
    pub(super) settings: &'a Settings,
    /// True if `--provider` selects another provider.
    pub(super) is_replaced: bool,
    /// True if a run starts.
    pub(super) starts: bool,
}

/// The named provider, and its description if the file contains one.
#[derive(Debug, Default)]
pub(super) struct Backend {
    pub(super) name: Option<Located<String>>,
    pub(super) own: Option<OwnProvider>,
}

impl Reader<'_> {
    pub(super) fn read(self, cli: &Fields<'_>, diagnostics: &mut Diagnostics) -> Backend {
        let Some(name) = cli.text("backend").filter(|name| name.value != "auto") else {
            refuse_description(cli, "auto", diagnostics);
            return Backend::default();
        };
        if name.value != CUSTOM {
            refuse_description(cli, &name.value, diagnostics);
        }
        if UNSERVED.contains(&name.value.as_str()) {
            self.report_unserved(&name, diagnostics);
            return Backend::default();
        }
        let own = match name.value.as_str() {
            CUSTOM if self.is_set(CUSTOM) => {
                // The user's settings describe this provider, so they win over the file.
                DESCRIBING
                    .iter()
                    .filter_map(|key| cli.key(key))
                    .for_each(|at| diagnostics.push(no_effect(at)));
                None
            }
            CUSTOM => match self.custom(&name, cli, diagnostics) {
                Some(own) => Some(own),
                // The missing command is already reported. Without a name, no "unknown provider" follows.
                None => return Backend::default(),
            },
            known if known == KIRO_ACP.0 && !self.is_set(known) => Some(OwnProvider {
                name: known.into(),
                speaks: OwnProtocol::Acp,
                argv: KIRO_ACP.1.map(str::to_owned).to_vec(),
                written: None,
            }),
            _ => None,
        };
        Backend { name: Some(name), own }
    }

    fn is_set(self, name: &str) -> bool {
        self.settings.providers.contains_key(name)
    }

    fn custom(
        self,
        name: &Located<String>,
        cli: &Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<OwnProvider> {
        let Some(command) = cli.text("command").filter(|command| !command.value.trim().is_empty()) else {
            let message = format!("`cli.backend: {CUSTOM}` needs `cli.command`, the program to be asked");
            let hint = "such as `command: my-agent`";
            diagnostics.push(name.error("missing-key", message).label("which program?").hint(hint));
            return None;
        };
        let program = command.value.trim();
        if program.contains('/') && !program.starts_with('/') {
            let message = format!(
                "`cli.command` must be the name of a program or an absolute path, not {}",
                quoted(program)
            );
            let hint = "the directory an agent works in is not trusted to hold programs";
            diagnostics.push(command.error("bad-value", message).label("a relative path").hint(hint));
        }
        let speaks = match cli.text("prompt_mode").as_ref().map(|mode| mode.value.as_str()) {
            Some("stdin") => OwnProtocol::Input,
            // Ralph's default.
            Some(_) | None => OwnProtocol::Argument,
        };
        let args = cli.texts("args").unwrap_or_default().into_iter().map(|argument| argument.value);
        let flag = cli.text("prompt_flag").filter(|_| speaks == OwnProtocol::Argument);
        let flag = flag.map(|flag| flag.value).filter(|flag| !flag.is_empty());
        let argv = std::iter::once(program.to_owned()).chain(args).chain(flag).collect();
        Some(OwnProvider { name: CUSTOM.into(), speaks, argv, written: self.file.map(str::to_owned) })
    }

    fn report_unserved(self, name: &Located<String>, diagnostics: &mut Diagnostics) {
        let message = format!("there is no provider for ralph's backend {}", quoted(&name.value));
        let hint = "use `--provider` with another one, or describe the program: `backend: custom` with `command` and `args`";
        let diagnostic = if self.starts && !self.is_replaced {
            name.error("unserved-backend", message)
        } else {
            name.warning("unserved-backend", message)
        };
        diagnostics.push(diagnostic.label("not asked").hint(hint));
    }
}

/// H-70, H-71: the file must not describe the program of a known provider.
fn refuse_description(cli: &Fields<'_>, backend: &str, diagnostics: &mut Diagnostics) {
    for key in ["command", "args"] {
        if let Some(at) = cli.key(key) {
            if cli.any(key).is_some_and(|value| value.is_off()) {
                diagnostics.push(no_effect(at));
                continue;
            }
            let message = format!("`cli.{key}` is not supported with the backend {}", quoted(backend));
            let hint = "arguments of a provider are set in `.saihai/config.toml`";
            diagnostics.push(at.error("not-supported", message).label("not passed on").hint(hint));
        }
    }
    for at in ["prompt_mode", "prompt_flag"].iter().filter_map(|key| cli.key(key)) {
        diagnostics.push(no_effect(at));
    }
}
