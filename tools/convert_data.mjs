// What packages hold → what the readers of src/data read. Called by tools/fetch_data.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { inflateSync } from 'node:zlib';

const json = (path) => JSON.parse(readFileSync(path, 'utf8'));
const lines = (path, objects) => writeFileSync(path, objects.map((object) => JSON.stringify(object) + '\n').join(''));

function writeIdx(path, sizes, values) {
    const header = Buffer.alloc(4 + 4 * sizes.length);
    header[2] = 8;
    header[3] = sizes.length;
    sizes.forEach((size, i) => header.writeUInt32BE(size, 4 + 4 * i));
    writeFileSync(path, Buffer.concat([header, values]));
}

// The tenth of a text that is read last is for validation.
function writeText(text, to) {
    const cut = text.indexOf('\n', Math.floor(text.length * 0.9)) + 1;
    writeFileSync(join(to, 'train.txt'), text.slice(0, cut));
    writeFileSync(join(to, 'validation.txt'), text.slice(cut));
}

// The package has no split: the last 1,000 of each class are to test. Classes take turns.
function fashionMnist(from, to) {
    const classes = [...Array(10).keys()].map((i) =>
        json(join(from, `src/clothes/${i}.json`)).data.filter((picture) => picture.length === 784));
    const write = (name, part) => {
        const rows = [];
        for (let i = 0; i < Math.max(...part.map((list) => list.length)); ++i)
            part.forEach((list, label) => i < list.length && rows.push([label, list[i]]));
        writeIdx(join(to, `${name}-images-idx3-ubyte`), [rows.length, 28, 28], Buffer.from(rows.flatMap((row) => row[1])));
        writeIdx(join(to, `${name}-labels-idx1-ubyte`), [rows.length], Buffer.from(rows.map((row) => row[0])));
    };
    write('train', classes.map((list) => list.slice(0, -1000)));
    write('t10k', classes.map((list) => list.slice(-1000)));
}

// Rows of bytes of an 8-bit RGB PNG without interlacing (RFC 2083).
function pngRows(path) {
    const bytes = readFileSync(path), parts = [];
    const width = bytes.readUInt32BE(16), height = bytes.readUInt32BE(20);
    if (bytes[24] !== 8 || bytes[25] !== 2 || bytes[28] !== 0) throw new Error(`${path}: not a plain RGB PNG`);
    for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at))
        if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
    const all = inflateSync(Buffer.concat(parts)), stride = 3 * width, rows = [];
    let above = Buffer.alloc(stride);
    for (let y = 0; y < height; ++y) {
        const filter = all[y * (stride + 1)], row = Buffer.from(all.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
        for (let i = 0; i < stride; ++i) {
            const left = i < 3 ? 0 : row[i - 3], up = above[i], corner = i < 3 ? 0 : above[i - 3];
            const guess = left + up - corner;
            const [toLeft, toUp, toCorner] = [guess - left, guess - up, guess - corner].map(Math.abs);
            const nearest = toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
            row[i] += [0, left, up, (left + up) >> 1, nearest][filter];
        }
        rows.push(row);
        above = row;
    }
    return rows;
}

// A sheet has one picture to a row.
function cifar10(from, to) {
    const convert = (sheet, labels, name) => {
        const records = pngRows(join(from, sheet)).map((row, i) => {
            const record = Buffer.alloc(3073);
            record[0] = labels[i];
            for (let pixel = 0; pixel < 1024; ++pixel)
                for (let channel = 0; channel < 3; ++channel)
                    record[1 + 1024 * channel + pixel] = row[3 * pixel + channel];
            return record;
        });
        writeFileSync(join(to, name), Buffer.concat(records));
    };
    const train = json(join(from, 'train_lables.json'));
    for (let i = 0; i < 5; ++i)
        convert(`data_batch_${i + 1}.png`, train.slice(10000 * i, 10000 * (i + 1)), `data_batch_${i + 1}.bin`);
    convert('test_batch.png', json(join(from, 'test_lables.json')), 'test_batch.bin');
}

function bible(from, to) {
    let text = '';
    for (const file of readdirSync(join(from, 'json')).sort()) {
        for (const part of json(join(from, 'json', file))) {
            if (typeof part.value === 'string') text += part.value.replace(/ +$/, ' ');
            if (part.type === 'paragraph end' || part.type === 'line break') text = text.trimEnd() + '\n';
        }
        text = text.trimEnd() + '\n\n';
    }
    writeText(text, to);
}

// "1f469-200d-1f33e.png" → the characters; a name may be filed without the sign that asks for colours.
function emoji(annotations, to, styles) {
    const named = json(annotations).annotations.annotations;
    const plain = (text) => text.replaceAll('\ufe0f', '');
    const names = new Map(Object.entries(named).filter(([, entry]) => entry.tts).map(([text, entry]) => [plain(text), entry.tts[0]]));
    for (const style of styles) {
        const [name, folder] = style.split('=');
        mkdirSync(join(to, name));
        const found = [];
        for (const file of readdirSync(folder).sort()) {
            const codes = basename(file).replace(/\.[a-z]+$/, '').split(/[-_]/).map((code) => parseInt(code, 16));
            if (codes.some(Number.isNaN)) continue;
            const text = names.get(plain(String.fromCodePoint(...codes)));
            if (!text) continue;
            copyFileSync(join(folder, file), join(to, name, file));
            found.push({ image: `${name}/${file}`, text });
        }
        lines(join(to, `${name}.jsonl`), found);
    }
}

// The title that a PNG carries in a text of its own.
function titleOf(path) {
    const bytes = readFileSync(path);
    for (let at = 8; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
        if (bytes.toString('latin1', at + 4, at + 8) !== 'tEXt') continue;
        const [name, text] = bytes.toString('latin1', at + 8, at + 8 + bytes.readUInt32BE(at)).split('\0');
        if (name === 'Title') return text.trim();
    }
    return '';
}

function clipArt(from, to) {
    const found = [];
    for (const name of readdirSync(from, { recursive: true }).sort()) {
        if (!name.endsWith('.png')) continue;
        const text = titleOf(join(from, name)), image = join('pictures', name);
        if (!/[a-zA-Z]/.test(text)) continue;
        mkdirSync(dirname(join(to, image)), { recursive: true });
        copyFileSync(join(from, name), join(to, image));
        found.push({ image, text });
    }
    lines(join(to, 'clip-art.jsonl'), found);
}

const [kind, from, to, ...rest] = process.argv.slice(2);
if (!existsSync(from)) throw new Error(`${from}: the package does not hold it`);
const kinds = {
    'fashion-mnist': fashionMnist,
    cifar10,
    bible,
    text: (path, folder) => writeText(readFileSync(path, 'utf8'), folder),
    emoji: (path, folder) => emoji(path, folder, rest),
    'clip-art': clipArt,
};
kinds[kind](from, to);
