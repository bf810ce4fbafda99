// Message catalogs of translated programs (gettext's .mo files) → sentence pairs. Called by tools/fetch_data.
//
//     node tools/convert_catalogs.mjs OUT LANGUAGE FOLDER…
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [to, language, ...folders] = process.argv.slice(2);

// A catalog has two tables of lengths and offsets: the originals and the translations (gettext manual, 10.3).
function* messages(path) {
    const bytes = readFileSync(path), little = bytes.readUInt32LE(0) === 0x950412de;
    const number = (at) => (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
    const text = (table, i) => {
        const [length, offset] = [number(table + 8 * i), number(table + 8 * i + 4)];
        return bytes.toString('utf8', offset, offset + length).split('\u0004').at(-1).split('\0')[0];
    };
    for (let i = 0; i < number(8); ++i) yield [text(number(12), i), text(number(16), i)];
}

// Without the signs of shortcuts; nothing where a text has several lines, or holes for a program to fill.
const plain = (text) => (/[%<>{}|\n\t\\]/.test(text.trim()) ? '' : text.replaceAll('_', '').trim());

const pairs = new Map();
for (const folder of folders)
    for (const name of readdirSync(folder, { recursive: true }).sort()) {
        if (!name.endsWith('.mo') || !name.includes(`/${language}/LC_MESSAGES/`)) continue;
        for (const [original, translation] of messages(join(folder, name))) {
            const [source, target] = [plain(original), plain(translation)];
            const words = source.split(/\s+/).length;
            if (source && target && source !== target && words > 1 && source.length <= 80 && target.length <= 100)
                pairs.set(source.toLowerCase(), `${source}\t${target}\n`);
        }
    }

// Every twentieth is for validation and every twentieth to test, in an order that has nothing to do with the programs.
const hash = (text) => [...text].reduce((sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)) >>> 0, 7);
const sorted = [...pairs.entries()].sort((a, b) => hash(a[0]) - hash(b[0]) || (a[0] < b[0] ? -1 : 1)).map((entry) => entry[1]);
const part = (keep) => sorted.filter((_, i) => keep(i % 20)).join('');
writeFileSync(join(to, 'train.tsv'), part((i) => i > 1));
writeFileSync(join(to, 'validation.tsv'), part((i) => i === 0));
writeFileSync(join(to, 'test.tsv'), part((i) => i === 1));
