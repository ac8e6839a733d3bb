//! Runs that agents start: who is behind them, and the budget that they share (N-20).

use saihai::{Clock, Disk, RunDirectory};
use saihai_connect::CurrentTurn;
use saihai_model::{Budget, BudgetLoan, Cost, ParentTurn, RunOrigin, Usd};
use saihai_view::RunSpending;

use crate::error::CommandError;
use crate::quantities::budget_left_words;

/// Generations of runs below the one that a person started.
const DEEPEST: usize = 2;

/// Returns the agent behind a new run: the request of an MCP client, and the turn that this process belongs to.
pub(crate) fn origin_of_new_run(mcp_request: Option<&str>) -> Result<RunOrigin, CommandError> {
    let parent = CurrentTurn::of_this_process().map(parent_turn).transpose()?;
    let mut ancestors = 0;
    let mut ancestor = parent.clone();
    while let Some(turn) = ancestor {
        ancestors += 1;
        if ancestors > DEEPEST {
            let error = CommandError::usage(format!("the agent of `{}` cannot start a run", turn.call));
            return Err(error.hint(format!("runs start runs only {DEEPEST} levels deep")));
        }
        ancestor = directory_of(&turn).start()?.origin.parent.clone();
    }
    Ok(RunOrigin { mcp_request: mcp_request.map(str::to_owned), parent })
}

fn parent_turn(turn: CurrentTurn) -> Result<ParentTurn, CommandError> {
    let run = turn.directory.file_name().and_then(|name| name.to_str());
    let Some(run) = run.filter(|_| turn.directory.is_dir()) else {
        let shown = turn.directory.display();
        return Err(CommandError::usage(format!("the run of this agent is gone: `{shown}`")));
    };
    Ok(ParentTurn { run: run.to_owned(), call: turn.call, directory: turn.directory.display().to_string() })
}

fn directory_of(turn: &ParentTurn) -> RunDirectory {
    let path = std::path::Path::new(&turn.directory);
    RunDirectory::new(path.parent().unwrap_or(path), turn.run.clone(), &Disk::new())
}

/// The part of a parent's budget that a new run may spend.
#[derive(Debug)]
pub(crate) struct SharedBudget {
    parent: RunDirectory,
    cost: Cost,
}

impl SharedBudget {
    /// Checks that the budget of a new run fits into what its parent has left. Returns nothing without a parent, if its
    /// parent has no budget, or for a rehearsal, which costs nothing.
    pub(crate) fn of(
        origin: &RunOrigin,
        budget: &Budget,
        rehearsal: bool,
    ) -> Result<Option<Self>, CommandError> {
        let Some(turn) = origin.parent.as_ref().filter(|_| !rehearsal) else { return Ok(None) };
        let parent = directory_of(turn);
        let run = saihai::LoadedRun::read(&parent)?;
        let Some(spending) = run.view.spending(&run.workflow) else { return Ok(None) };
        let limits = &spending.budget;
        let usd =
            PartOfBudget::new("usd", budget.usd.map(|usd| usd.0), limits.usd.map(|usd| usd.0), |cost| {
                cost.usd.0
            });
        let tokens = PartOfBudget::new("tokens", budget.tokens, limits.tokens, |cost| cost.tokens);
        let turns = PartOfBudget::new("turns", budget.turns, limits.turns, |cost| cost.turns);
        let cost = Cost {
            usd: Usd(usd.share(&spending)?),
            tokens: tokens.share(&spending)?,
            turns: turns.share(&spending)?,
        };
        Ok(Some(Self { parent, cost }))
    }

    /// Takes the budget from the parent, before the new run spends any of it.
    pub(crate) async fn take_for(&self, run: &RunDirectory) -> Result<(), CommandError> {
        let loan = BudgetLoan { run: run.id().to_owned(), cost: self.cost };
        Ok(saihai::lend(&self.parent, loan, Clock::system()).await?)
    }
}

/// One kind of limit: what the new run asks for, and what its parent may spend.
struct PartOfBudget {
    key: &'static str,
    asked: Option<u64>,
    limit: Option<u64>,
    part: fn(&Cost) -> u64,
}

impl PartOfBudget {
    fn new(key: &'static str, asked: Option<u64>, limit: Option<u64>, part: fn(&Cost) -> u64) -> Self {
        Self { key, asked, limit, part }
    }

    /// Returns the share of the new run. The turn that starts it has not paid for itself yet.
    fn share(&self, spending: &RunSpending) -> Result<u64, CommandError> {
        let Some(limit) = self.limit else { return Ok(0) };
        let running = spending.next.as_ref().map_or(0, self.part);
        let left = limit.saturating_sub((self.part)(&spending.spent)).saturating_sub(running);
        let key = self.key;
        let error = match self.asked {
            Some(asked) if asked <= left => return Ok(asked),
            Some(_) => CommandError::usage(format!(
                "the run of this agent does not have so much of its budget left: `{key}`"
            )),
            None => CommandError::usage(format!(
                "the budget must limit `{key}`, as that of this agent's run does"
            )),
        };
        Err(match budget_left_words(spending) {
            Some(left) => error.hint(format!("it has {left}, of which the turn of this agent needs some")),
            None => error,
        })
    }
}
