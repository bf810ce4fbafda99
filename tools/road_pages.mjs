// The road's pages and their figures. A page carries its figures in blocks: what is to be written, and what was written of it.
//
//     <!-- tools/road
//     | cell | bits per character {least} |
//     |---|---|
//     | LSTM | ${lstm.score.bits_per_character|3} |
//     -->
//     (the table, made)
//     <!-- end -->
//
// ${ROW.FIGURE|FORMAT} is a figure of docs/road/figures/NN.json, ${NN/ROW.FIGURE} one of another page's, ${.FIGURE} one of the row
// that the line has named before, ${A / B|1} a quotient;
// {least} or {most} in a column's head makes its best figure bold; ${made} says which machine and commit made the figures,
// and where they differ the last column of a table says it of each row, and the end of a paragraph of its figures.
//
//     node tools/road_pages.mjs render     takes new runs into the figures, and writes the pages
//     node tools/road_pages.mjs check [NN…]
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export class RoadError extends Error {}

// ---- figures

const kept = {
    recipe: ['steps', 'batch', 'optimizer.learning_rate', 'data.limit'],
    config: ['contexts', 'entries'],
    facts: ['parameters', 'active_parameters'],
};
const names = ['name', 'kernel', 'candidates', 'task'];  // what tells the members of a list apart

// {"a": {"b": 1}} → [["a.b", 1]]; numbers only.
function flat(value, prefix = '') {
    if (typeof value === 'number') return [[prefix, value]];
    if (value === null || typeof value !== 'object') return [];
    const within = (key) => (prefix ? `${prefix}.${key}` : String(key));
    if (!Array.isArray(value)) return Object.entries(value).flatMap(([key, part]) => flat(part, within(key)));
    return value.flatMap((part, index) => {
        const name = names.find((field) => part !== null && typeof part === 'object' && field in part);
        return flat(part, within(name ? part[name] : index));
    });
}

const read = (file) => fs.readFileSync(file, 'utf8');
const read_json = (file) => {
    try {
        return JSON.parse(read(file));
    } catch (error) {
        throw new RoadError(`${file}: ${error.message}`);
    }
};

// What a row's folder in runs/road holds.
function gathered(folder) {
    const values = {};
    for (const file of fs.readdirSync(folder).sort()) {
        const name = path.parse(file).name, whole = path.join(folder, file);
        if (file === 'validation.jsonl')
            for (const line of read(whole).trim().split('\n').filter(Boolean).map(JSON.parse))
                if ('validation_loss' in line) values[`validation.${line.step}`] = line.validation_loss;
        if (file === 'train.time') {
            const { processor_seconds, seconds } = read_json(whole);
            values['train.processor_seconds'] = Math.round((processor_seconds[0] + processor_seconds[1]) * 100) / 100;
            values['train.seconds'] = seconds;
        }
        if (!file.endsWith('.json') || file === 'made.json' || fs.statSync(whole).size === 0) continue;
        for (const [key, value] of flat(read_json(whole)))
            if (!(name in kept) || kept[name].includes(key)) values[`${name}.${key}`] = value;
    }
    const lines = (file) => read(path.join(folder, file)).trim().split('\n');
    const row = { made: read_json(path.join(folder, 'made.json')), commands: lines('commands'), values };
    if (fs.existsSync(path.join(folder, 'pictures'))) row.pictures = lines('pictures');
    return row;
}

// Takes rows that are newer than the figures into them.
function gather(root, page) {
    const runs = path.join(root, 'runs/road', page.number);
    if (!fs.existsSync(runs)) return;
    let changed = false;
    for (const name of fs.readdirSync(runs).sort()) {
        if (!fs.existsSync(path.join(runs, name, 'made.json'))) continue;
        const row = gathered(path.join(runs, name)), known = page.rows[name];
        if (known && known.made.time > row.made.time) continue;
        page.rows[name] = row;
        changed = true;
    }
    const rows = Object.fromEntries(Object.entries(page.rows).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (changed) fs.writeFileSync(page.figures, `${JSON.stringify({ rows }, null, 1)}\n`);
}

// ---- a figure as it is written

const separated = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
const three_digits = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

function in_bytes(bytes) {
    for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]])
        if (bytes >= size) return `${three_digits(bytes / size)} ${unit}`;
    return `${bytes} B`;
}

const formats = {
    ',': separated,
    exp: (value) => (Math.exp(value) >= 100 ? separated(Math.exp(value)) : Math.exp(value).toFixed(1)),
    M: (value) => `${three_digits(value / 1e6)} M`,
    B: in_bytes,
    sig: three_digits,
    s: (value) => `${value < 10 ? value.toFixed(1) : separated(value)} s`,
};

export function written(value, format) {
    if (format === undefined) return String(value);
    if (/^\d$/.test(format)) return value.toFixed(Number(format));
    if (/^%\d$/.test(format)) return `${(100 * value).toFixed(Number(format[1]))} %`;
    if (!(format in formats)) throw new RoadError(`unknown format '${format}'`);
    return formats[format](value);
}

// ---- a page

// Which machine and commit made the figures of one page, each under its letter.
class Makers {
    known = [];
    letter(made) {
        const commit = /^before /.test(made.commit) ? made.commit.replace(' ', ' commit ') : `commit ${made.commit}`;
        const text = `${made.machine}, ${made.time.slice(0, 10)}, ${commit}`;
        if (!this.known.includes(text)) this.known.push(text);
        return String.fromCharCode(97 + this.known.indexOf(text));
    }
    legend(pictures) {
        if (this.known.length === 0) throw new RoadError('${made} on a page without figures');
        if (this.known.length === 1) return `Made on ${this.known[0]}.`;
        const letters = this.known.map((text, index) => `**${String.fromCharCode(97 + index)}** ${text}`).join('; ');
        const seen = [...new Set(pictures.map((made) => this.letter(made)))].sort().join(' ');
        return `*made*: ${letters}${seen ? `. Pictures: ${seen}` : ''}.`;
    }
}

class Renderer {
    makers = new Makers();
    constructor(pages, page) {
        this.pages = pages;
        this.page = page;
    }

    row_of(reference) {
        const [, number, figure] = /^(?:(\d\d)\/)?(.*)$/.exec(reference);
        const rows = (number ? this.pages.get(number) : this.page)?.rows ?? {};
        const found = Object.keys(rows).filter((name) => figure.startsWith(`${name}.`));
        if (found.length === 0) throw new RoadError(`there are no figures for '${reference}' yet: run tools/road`);
        const name = found.reduce((a, b) => (a.length > b.length ? a : b));  // rate-0.002 rather than rate-0
        return { name: number ? `${number}/${name}` : name, row: rows[name], path: figure.slice(name.length + 1) };
    }

    figure(expression) {
        const [, terms, format] = /^(.*?)(?:\|([^|]*))?$/.exec(expression);
        const values = terms.split(' / ').map((reference) => {
            const { row, path: figure } = this.row_of(reference);
            if (!(figure in row.values)) throw new RoadError(`no figure '${reference}'`);
            this.makers.letter(row.made);
            return row.values[figure];
        });
        return written(values.reduce((a, b) => a / b), format);
    }

    // ${.FIGURE} is of the row that the line has named before.
    whole(text) {
        let name = '';
        return text.replace(/\$\{([^}|]*)/g, (whole, terms) => {
            if (terms === 'made') return whole;
            return `\${${terms.split(' / ').map((reference) => {
                const full = reference.startsWith('.') ? name + reference : reference;
                ({ name } = this.row_of(full));
                return full;
            }).join(' / ')}`;
        });
    }

    filled(text) {
        return this.whole(text).replace(/\$\{([^}]*)\}/g, (whole, expression) => (expression === 'made' ? whole : this.figure(expression)));
    }

    // The makers of all figures in a line, as letters.
    made(line) {
        const letters = [...this.whole(line).matchAll(/\$\{([^}|]*)/g)].flatMap(([, terms]) =>
            terms.split(' / ').map((reference) => this.makers.letter(this.row_of(reference).row.made)));
        return [...new Set(letters)].sort().join(' ');
    }

    table(lines) {
        const cells = (line) => line.replace(/^\||\|$/g, '').split(/(?<!\\)\|(?![^{}]*\})/).map((cell) => cell.trim());
        const head = cells(lines[0]), goals = head.map((cell) => /\{(least|most)\}/.exec(cell)?.[1]);
        const rows = lines.slice(2).map((line) => cells(line).map((cell, column) => {
            if (column > 0 && is_number(cell)) throw new RoadError(`'${cell}' in '${line}' is written by hand`);
            return cell;
        })).map((row) => cells(this.filled(`| ${row.join(' | ')} |`)));
        goals.forEach((goal, column) => {
            if (!goal) return;
            const values = rows.map((row) => Number.parseFloat((row[column] ?? '').replaceAll(',', '')));
            const best = Math[goal === 'least' ? 'min' : 'max'](...values.filter((value) => !Number.isNaN(value)));
            values.forEach((value, index) => {
                if (value === best) rows[index][column] = `**${rows[index][column]}**`;
            });
        });
        const several = this.several ? [' made |', '---|'] : ['', ''];
        return [
            `| ${head.map((cell) => cell.replace(/ *\{(least|most)\}/, '')).join(' | ')} |${several[0]}`,
            lines[1] + several[1],
            ...rows.map((row, index) => `| ${row.join(' | ').replace(/\|  (?=\|)/g, '| ')} |${this.several ? ` ${this.made(lines[index + 2])} |` : ''}`),
        ];
    }

    block(template) {
        return template.split(/\n{2,}/).map((paragraph) => {
            if (paragraph.startsWith('|')) return this.table(paragraph.split('\n')).join('\n');
            const makers = this.several && !paragraph.includes('${made}') ? this.made(paragraph) : '';
            const text = this.filled(paragraph).replace('${made}', () => (this.named ? this.legend() : ''));
            return wrapped(makers ? `${text} *(${makers})*` : text);
        }).join('\n\n');
    }

    legend() {
        return this.makers.legend(this.pictures);
    }

    // A page's text with its blocks made anew.
    text(text) {
        const blocks = /(<!-- tools\/road\n)([\s\S]*?)(\n-->\n)[\s\S]*?(<!-- end -->)/g;
        const opened = text.split('<!-- tools/road').length - 1, found = [...text.matchAll(blocks)];
        if (found.length !== opened) throw new RoadError(`${opened} blocks begin, ${found.length} end with <!-- end -->`);
        for (const [, , template] of found) this.block(template);  // so that all makers are known by their letters
        this.pictures = Object.values(this.page.rows).filter((row) => row.pictures).map((row) => row.made);
        for (const made of this.pictures) this.makers.letter(made);
        this.named = true;
        this.several = this.makers.known.length > 1;
        const out = text.replace(blocks, (whole, begin, template, middle, end) =>
            `${begin}${template}${middle}\n${this.block(template)}\n\n${end}`);
        if (found.length > 0 && !found.some(([, , template]) => template.includes('${made}')))
            throw new RoadError('no block says ${made}');
        check_tables(text.replace(blocks, ''));
        return out;
    }
}

// Lines as long as those of the pages' other text.
function wrapped(text) {
    const lines = [''];
    for (const word of text.split(/\s+/)) {
        const last = lines[lines.length - 1];
        if (last && last.length + word.length >= 130) lines.push(word);
        else lines[lines.length - 1] = last ? `${last} ${word}` : word;
    }
    return lines.join('\n');
}

// A cell that is a number and nothing else, but for its unit.
const is_number = (cell) => /^\**[-−]?\d[\d.,]*\s*(%|s|h|ms|M|[kKM]i?B)?\**$/.test(cell);

// Outside of blocks no table has figures: they would be nobody's.
function check_tables(text) {
    for (const line of text.split('\n').filter((each) => each.startsWith('|')))
        for (const cell of line.split('|').slice(2, -1))
            if (is_number(cell.trim())) throw new RoadError(`'${cell.trim()}' in '${line}' stands outside of a block`);
}

// ---- all pages

export function read_pages(root) {
    const road = path.join(root, 'docs/road'), pages = new Map();
    for (const file of fs.readdirSync(road).filter((name) => /^\d\d-.*\.md$/.test(name)).sort()) {
        const number = file.slice(0, 2), figures = path.join(road, 'figures', `${number}.json`);
        const rows = fs.existsSync(figures) ? read_json(figures).rows : {};
        pages.set(number, { number, file: path.join(road, file), figures, rows });
    }
    return pages;
}

function rendered(pages, page) {
    try {
        return new Renderer(pages, page).text(read(page.file));
    } catch (error) {
        if (error instanceof RoadError) error.message = `${page.file}: ${error.message}`;
        throw error;
    }
}

function render(root) {
    const pages = read_pages(root);
    for (const page of pages.values()) gather(root, page);
    return each(pages.values(), (page) => {
        const text = rendered(pages, page);
        if (text === read(page.file)) return;
        fs.writeFileSync(page.file, text);
        console.error(`road: ${path.relative(root, page.file)} is made anew`);
    });
}

function check(root, numbers) {
    const pages = read_pages(root);
    const asked = [...pages.values()].filter((page) => numbers.length === 0 || numbers.includes(page.number));
    return each(asked, (page) => {
        if (rendered(pages, page) !== read(page.file))
            throw new RoadError(`${page.file} is not what its figures say: tools/road ${Number(page.number)} --render`);
    });
}

// Whether it went well for all pages; what is wrong with one does not hide what is wrong with the next.
function each(pages, work) {
    let well = true;
    for (const page of pages) {
        try {
            work(page);
        } catch (error) {
            if (!(error instanceof RoadError)) throw error;
            console.error(`tools/road: ${error.message}`);
            well = false;
        }
    }
    return well;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [action, ...numbers] = process.argv.slice(2);
    const root = process.env.ROAD_ROOT ?? path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
    const well = action === 'render' ? render(root) : check(root, numbers);
    process.exit(well ? 0 : 1);
}
