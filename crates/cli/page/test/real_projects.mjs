// Projects with runs of each dialect, made by the real program from scripts.
import { Project } from './program.mjs';

export const WORK = `
  - name: plan
    description: Read the code and write a plan.
    report: {name: 01-plan.md, format: "# Plan"}
    rules: [{condition: The plan is complete, next: implement}]
  - name: implement
    edit: true
    rules: [{condition: The checks pass, next: review}]
  - name: review
    parallel:
      - {name: correctness, report: review-correctness.md, rules: [{condition: Nothing to fix}, {condition: Something to fix}]}
      - {name: tests, report: review-tests.md, rules: [{condition: Nothing to fix}, {condition: Something to fix}]}
    rules:
      - {condition: 'all("Nothing to fix")', next: COMPLETE}
      - {condition: 'any("Something to fix")', next: fix}
  - name: fix
    edit: true
    rules: [{condition: Every point is fixed, next: review}, {condition: A point cannot be fixed, next: ABORT}]
`;

const usage = (input, output, cost) => `usage: {input: ${input}, output: ${output}, cached: ${Math.round(input * 0.7)}, reasoning: ${Math.round(output / 4)}}, cost: ${cost}`;
const tool = (name, input, time) => `{name: ${name}, input: ${JSON.stringify(input)}, output: "ok", duration_ms: ${time}}`;

/** Replies for \`WORK\`. \`pace\` multiplies the delays; 0 is at once. */
export const workReplies = (pace = 0) => {
  const delay = (seconds) => (pace > 0 ? `, delay: ${Math.max(1, Math.round(seconds * pace))}` : '');
  const read = tool('Read', { file_path: 'src/list.rs' }, 300 * pace);
  const test = tool('Bash', { command: 'cargo test' }, 900 * pace);
  const good = (name, number, words) => `  - {for: review/${name}, visit: ${number}, text: "${words}\\n\\n[STEP:0]", tools_used: [${read}], ${usage(21000, 900, 0.04)}${delay(2)}}\n`;
  return `  - {for: plan, text: "# Plan\\n\\n1. Add the flag to the parser.\\n2. Print one object per line.\\n\\nThe text output stays as it is.\\n\\n[STEP:0]", tools_used: [${read}], ${usage(18200, 1400, 0.06)}${delay(2)}}
  - {for: implement, writes: [{path: src/list.rs, content: "pub fn list(format: Format) {\\n    match format {\\n        Format::Text => print_text(),\\n        Format::Json => print_json(),\\n    }\\n}\\n"}], text: "I added the flag and two printers.\\n\\nAll 14 tests pass.\\n\\n[STEP:0]", tools_used: [${read}, ${test}], ${usage(42800, 3900, 0.14)}${delay(4)}}
${good('correctness', 1, 'The change does what the plan says.')}  - {for: review/tests, visit: 1, text: "The empty list has no test.\\n\\n[STEP:1]", tools_used: [${read}], ${usage(23400, 1100, 0.05)}${delay(3)}}
  - {for: fix, writes: [{path: tests/list.rs, content: "#[test]\\nfn an_empty_list_prints_nothing() {}\\n"}], text: "The empty list has a test.\\n\\n[STEP:0]", tools_used: [${test}], ${usage(26100, 1300, 0.07)}${delay(2)}}
${good('correctness', 2, 'Nothing else changed.')}${good('tests', 2, 'Every branch has a test now.')}`;
};

export const TASK = 'Add a --json flag to the list command\n\nPrint one JSON object per line. Keep the text output as it is.';

export const pieceProject = async () => {
  const project = new Project();
  project.piece(WORK, workReplies()).write('src/list.rs', 'pub fn list() {\n    print_text();\n}\n');
  project.write('.gitignore', '.saihai/runs\n.takt/reports\n*.script.yaml\n');
  return project.repository();
};

export const hatsProject = () => {
  const project = new Project('parser');
  project.write('orch.yml', `hats:
  builder: {name: Builder, triggers: [task.start, review.rejected], publishes: [build.done], instructions: Build it.}
  critic: {name: Critic, triggers: [build.done], publishes: [review.rejected, LOOP_COMPLETE], instructions: Review it.}
`);
  return project.write('orch.script.yaml', "script: 1\nreplies:\n  - {text: 'EVENT: build.done'}\n  - {text: 'EVENT: review.rejected'}\n  - {text: 'EVENT: build.done'}\n  - {text: 'LOOP_COMPLETE'}\n");
};

export const stepsProject = () => {
  const project = new Project('manual');
  const agent = { version: '1.0.0', name: 'it', behavior: { systemPromptPath: 'prompts/system.md', allowedTools: [], permissionMode: 'plan', completionType: 'iterationBudget', completionConfig: { maxIterations: 3 } }, prompts: { registry: 'steps_registry.json' } };
  const steps = { read: { prompt: { path: 'read.md' }, next: 'write' }, write: { prompt: { path: 'write.md' }, next: 'read' } };
  project.write('.agent/it/agent.json', JSON.stringify(agent));
  project.write('.agent/it/steps_registry.json', JSON.stringify({ version: '1.0.0', basePath: 'prompts', entryStep: 'read', steps }));
  project.write('.agent/it/prompts/system.md', 'You work.\n').write('.agent/it/prompts/read.md', 'Read.\n').write('.agent/it/prompts/write.md', 'Write.\n');
  return project.write('it.script.yaml', 'script: 1\nreplies:\n  - {text: "A reply.", times: "*"}\n');
};

const BUILT_IN = ['architecture-reviewer', 'breaking-change-reviewer', 'code-reviewer', 'code-simplifier', 'comment-analyzer', 'dependency-reviewer', 'performance-reviewer', 'pr-test-analyzer', 'security-reviewer', 'silent-failure-hunter', 'type-design-analyzer'];

export const reviewProject = async () => {
  const project = new Project('store');
  project.write('.saihai/config.toml', BUILT_IN.map((name) => `[review.agents.${name}]\nenabled = false\n`).join(''));
  for (const name of ['security', 'style']) {
    project.write(`.saihai/agents/${name}.toml`, `name = "${name}"\ndescription = "d"\nmodel = "default"\noutput_schema = "scored_issues"\nsystem_prompt = "p"\n`);
  }
  project.write('.gitignore', 'review.script.yaml\n.saihai/runs\n').write('kept.py', 'print(1)\n');
  await project.repository();
  const issue = (severity, words) => `{severity: ${severity}, description: "${words}", location: {file_path: store.py, line_number: 2}}`;
  project.write('store.py', 'def run(query):\n    return db.execute(query)\n');
  project.write('review.script.yaml', `script: 1\nreplies:
  - {for: main/security, structured: {issues: [${issue('Critical', 'The query is built from user input.')}], overall_score: 3}}
  - {for: main/style, structured: {issues: [${issue('Suggestion', 'The function has no comment.')}], overall_score: 8}}
`);
  return project;
};

export const GATE = `
  - name: ask
    rules: [{condition: need words, next: use, requires_user_input: true}]
  - name: use
    rules: [{condition: done, next: COMPLETE}]
`;
export const GATE_REPLIES = "  - {for: ask, text: 'What colour? [STEP:0]'}\n  - {for: use, text: '[STEP:0]'}\n";

export const LOOP = `
  - name: build
    rules: [{condition: built, next: check}, {condition: over, next: COMPLETE}]
  - name: check
    rules: [{condition: again, next: build}]
`;
export const LOOP_REPLIES = (more = '') => `  - {for: build, times: "*", text: "Built.\\n[STEP:0]"${more}}\n  - {for: check, times: "*", text: "Again.\\n[STEP:0]"${more}}\n`;
