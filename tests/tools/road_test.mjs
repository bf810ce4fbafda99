// tools/road on a small road of its own, with a program that only says what it was asked.
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const repository = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');

const definition = `
row lstm
train recipe.json steps=3
measure score score text.txt
picture 01-small.svg "$model/loss.svg"

row gru
train recipe.json steps=2
measure score score text.txt

full_row lstm-full
train recipe.json steps=30
measure score score text.txt
`;

const page = `# 1. Small

<!-- tools/road
| cell | steps | bits {least} |
|---|---|---|
| LSTM | \${lstm.recipe.steps|,} | \${.score.bits|3} |
| GRU | \${gru.recipe.steps|,} | \${.score.bits|3} |

The LSTM has \${lstm.score.bits / gru.score.bits|1} times the bits. \${made}

The GRU needs \${gru.score.bits|1} bits.
-->

<!-- end -->

Prose.
`;

// Trains: a folder; measures: as many bits as the training had steps, and half a bit.
const program = `#!/usr/bin/env bash
set -e
[ -z "$BROKEN" ] || { echo "no such luck" >&2; exit 1; }
case $1 in
    train)
        mkdir -p "\${@: -2:1}"
        steps=\${3#steps=}
        cd "\${@: -2:1}"
        echo "{\\"steps\\": $steps, \\"optimizer\\": {\\"name\\": \\"adamw\\"}}" >recipe.json
        echo '{"model_type": "none"}' >config.json
        echo '{"step":1,"loss":2}' >metrics.jsonl
        echo "{\\"step\\":1,\\"validation_loss\\":$steps}" >>metrics.jsonl
        echo '<svg/>' >loss.svg
        printf 12345 >model.safetensors
        echo '{"loss": 1}'
        ;;
    inspect) echo '{"parameters": 1234567}' ;;
    score) echo "{\\"bits\\": $(sed 's/.*"steps": \\([0-9]*\\).*/\\1/' "$2/recipe.json").5}" ;;
esac
`;

function small_road() {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'road_test_'));
    for (const folder of ['tools', 'docs/road/figures']) fs.mkdirSync(path.join(root, folder), { recursive: true });
    for (const tool of ['road', 'road_pages.mjs', 'source_commit'])
        fs.copyFileSync(path.join(repository, 'tools', tool), path.join(root, 'tools', tool));
    const file = (name, text, mode) => fs.writeFileSync(path.join(root, name), text, { mode });
    file('docs/road/figures/01.sh', definition);
    file('docs/road/01-small.md', page);
    file('program', program, 0o755);
    file('commit', 'abc1234\n');
    return {
        root,
        read: (name) => fs.readFileSync(path.join(root, name), 'utf8'),
        write: file,
        road(words, environment = {}) {
            const env = { ...process.env, TESSERA: './program', ...environment };
            const done = spawnSync('bash', ['tools/road', ...words], { cwd: root, env, encoding: 'utf8' });
            return { ok: done.status === 0, said: done.stdout + done.stderr };
        },
        figures: () => JSON.parse(fs.readFileSync(path.join(root, 'docs/road/figures/01.json'), 'utf8')).rows,
    };
}

function with_road(body) {
    const road = small_road();
    try {
        body(road);
    } finally {
        fs.rmSync(road.root, { recursive: true });
    }
}

const expect_ok = ({ ok, said }) => assert.ok(ok, said);
function expect_failure({ ok, said }, what) {
    assert.ok(!ok, 'it should have failed');
    assert.match(said, what);
}

test('a page is made from its runs', () => with_road((road) => {
    expect_ok(road.road(['1']));
    const text = road.read('docs/road/01-small.md');
    assert.match(text, /\n\| cell \| steps \| bits \|\n\|---\|---\|---\|\n\| LSTM \| 3 \| 3\.500 \|\n\| GRU \| 2 \| \*\*2\.500\*\* \|\n/);
    assert.match(text, /The LSTM has 1\.4 times the bits\. Made on [^.]*,\s+commit\s+abc1234\./);
    assert.match(text, /\nThe GRU needs 2\.5 bits\.\n/);
    assert.match(text, /\nProse\.\n$/);
    assert.equal(road.read('docs/road/01-small.svg'), '<svg/>\n');
    const { lstm } = road.figures();
    assert.equal(lstm.made.commit, 'abc1234');
    assert.deepEqual(lstm.commands.slice(0, 1), ['tessera train recipe.json steps=3 -o runs/road/01/lstm/lstm --json']);
    assert.equal(lstm.values['score.bits'], 3.5);
    assert.equal(lstm.values['validation.1'], 3);
    assert.equal(lstm.values['file.bytes'], 5);
    assert.ok(lstm.values['train.processor_seconds'] >= 0);
    expect_ok(road.road(['1', '--check']));
}));

test('a row of another machine or commit is told apart', () => with_road((road) => {
    expect_ok(road.road(['1']));
    road.write('commit', 'def5678\n');
    expect_ok(road.road(['1', '--only', 'gru']));
    const text = road.read('docs/road/01-small.md');
    assert.match(text, /\| bits \| made \|\n\|---\|---\|---\|---\|\n\| LSTM .* \| a \|\n\| GRU .* \| b \|\n/);
    assert.match(text, /\nThe GRU needs 2\.5 bits\. \*\(b\)\*\n/);
    assert.match(text, /\*\*a\*\* [^;]*,\s+commit\s+abc1234;\s+\*\*b\*\*\s+[^;]*,\s+commit\s+def5678\.\s+Pictures:\s+a\./);
}));

test('rows are chosen, kept, listed and full', () => with_road((road) => {
    assert.equal(road.road(['1', '--list']).said, '01 lstm\n01 gru\n');
    assert.equal(road.road(['all', '--full', '--list']).said, '01 lstm-full\n');
    road.road(['1', '--only', 'g*']);
    assert.deepEqual(Object.keys(road.figures()), ['gru']);
    const time = road.figures().gru.made.time;
    const kept = road.road(['1', '--keep']);
    expect_ok(kept);
    assert.doesNotMatch(kept.said, /page 01, gru/);
    assert.equal(road.figures().gru.made.time, time);
    expect_ok(road.road(['1', '--full']));
    assert.equal(road.figures()['lstm-full'].values['score.bits'], 30.5);
}));

test('on a GPU everything is told so', () => with_road((road) => {
    road.write('nvidia-smi', '#!/bin/sh\necho "A GPU"\n', 0o755);
    expect_ok(road.road(['1']));
    expect_ok(road.road(['1', '--full', '--device', 'cuda'], { PATH: `${road.root}:${process.env.PATH}` }));
    const row = road.figures()['lstm-full'];
    assert.equal(row.made.machine, 'A GPU');
    assert.match(row.commands[0], /^tessera train recipe\.json steps=30 device=cuda -o /);
    assert.match(row.commands[2], /^tessera score .* text\.txt --device cuda --json$/);
}));

test('what failed leaves the figures as they were', () => with_road((road) => {
    expect_ok(road.road(['1']));
    const before = road.read('docs/road/figures/01.json');
    expect_failure(road.road(['1'], { BROKEN: 'yes' }), /page 01, lstm: failed: tessera train/);
    expect_ok(road.road(['1', '--render']));
    assert.equal(road.read('docs/road/figures/01.json'), before);
}));

test('a check finds what no figure says', () => with_road((road) => {
    expect_ok(road.road(['1']));
    const good = road.read('docs/road/01-small.md');
    const expect_found = (text, what) => {
        road.write('docs/road/01-small.md', text);
        expect_failure(road.road(['1', '--check']), what);
    };
    expect_found(good.replace('3.500', '3.400'), /01-small\.md is not what its figures say: tools\/road 1 --render/);
    expect_found(good.replace('1.4 times', '1.5 times'), /is not what its figures say/);
    expect_found(`${good}\n| a | b |\n|---|---|\n| mine | 2.1 s |\n`, /'2\.1 s' in '.*' stands outside of a block/);
    expect_found(good.replaceAll('${.score.bits|3}', '2.1'), /'2\.1' in '.*' is written by hand/);
    expect_found(good.replace('<!-- end -->', ''), /1 blocks begin, 0 end/);
    expect_found(good.replaceAll('${made}', ''), /no block says \$\{made\}/);
    expect_found(good.replaceAll('score.bits / gru', 'score.bites / gru'), /no figure 'lstm\.score\.bites'/);
    expect_found(good.replaceAll('lstm.score', 'lsdm.score'), /no figures for 'lsdm\.score\.bits' yet/);
}));
