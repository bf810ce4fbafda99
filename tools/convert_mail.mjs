// The SpamAssassin corpus as the readers of src/data read it: train.tsv and validation.tsv with a text, a tab and "ham" or
// "spam" per line, and the same texts without labels in train.txt and validation.txt. Called by tools/fetch_data.
//
// A text is the subject and the beginning of the body as a person reads it, in printable ASCII. What gives the class
// away without being read (headers, marks of mailing lists and of answers) is left out, and so are repeated texts.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const longest = 400, shortest = 40, validation = 1000;

// Headers as one text, with folded lines joined, and the body (RFC 5322).
function halves(message) {
    const end = message.search(/\r?\n\r?\n/);
    if (end < 0) return [message, ''];
    return [message.slice(0, end).replace(/\r?\n[ \t]+/g, ' '), message.slice(end).trimStart()];
}
const header = (headers, name) => headers.match(new RegExp(`^${name}:(.*)$`, 'im'))?.[1].trim() ?? '';

function decoded(body, encoding) {
    if (/base64/i.test(encoding)) return Buffer.from(body, 'base64').toString('latin1');
    if (!/quoted-printable/i.test(encoding)) return body;
    return body.replace(/=\r?\n/g, '').replace(/=([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(parseInt(code, 16)));
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ', apos: "'" };
function withoutMarkup(html) {
    return html
        .replace(/<(script|style|title)\b[^]*?<\/\1\s*>/gi, ' ')
        .replace(/<!--[^]*?-->/g, ' ')
        .replace(/<[^>]*>/g, ' ')
        .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Math.min(Number(code), 0x10ffff)))
        .replace(/&([a-z]+);/gi, (_, name) => entities[name.toLowerCase()] ?? ' ');
}

// The readable text of a message or of one of its parts (RFC 2046); the first part that has any.
function readable(message) {
    const [headers, body] = halves(message), type = header(headers, 'content-type');
    const boundary = type.match(/boundary="?([^";]+)"?/i)?.[1].trim();
    if (/multipart/i.test(type) && boundary) {
        for (const part of body.split(`--${boundary}`).slice(1)) {
            const text = part.startsWith('--') ? '' : readable(part.replace(/^\r?\n/, ''));
            if (/[a-z]/i.test(text)) return text;
        }
        return '';
    }
    if (type && !/text\/(plain|html)/i.test(type)) return '';
    const text = decoded(body, header(headers, 'content-transfer-encoding'));
    return /html/i.test(type) || /<html|<body/i.test(text) ? withoutMarkup(text) : text;
}

function textOf(message) {
    const subject = header(halves(message)[0], 'subject')
        .replace(/=\?[^?]*\?[bq]\?[^?]*\?=/gi, ' ')
        .replace(/\[[^\]]*\]/g, ' ')
        .replace(/^(\s*(re|fwd?|aw)\s*:)+/i, '');
    const body = readable(message)
        .split(/\r?\n/)
        .filter((line) => !/^\s*[>|]|^On .*wrote:|^--* ?Original Message/i.test(line) && !/wrote:\s*$/.test(line))
        .join(' ');
    const text = `${subject}. ${body}`.replace(/[^\x20-\x7e]+/g, ' ').replace(/([-_=*~#+.])\1{3,}/g, '$1$1$1');
    return text.replace(/https?:\/\/\S+/gi, 'http').replace(/\s+/g, ' ').trim().slice(0, longest).trim();
}

const [from, to] = process.argv.slice(2);
const messages = [], seen = new Set();
for (const group of readdirSync(from).filter((name) => /(ham|spam)-\d$/.test(name)).sort()) {
    for (const file of readdirSync(join(from, group)).filter((name) => name.endsWith('.json')).sort()) {
        const { text: message, checksum } = JSON.parse(readFileSync(join(from, group, file), 'utf8'));
        const text = textOf(message), key = text.toLowerCase().replace(/[^a-z]/g, '').slice(0, 150);
        if (key.length < shortest || seen.has(key)) continue;
        seen.add(key);
        messages.push({ order: checksum.value, text, label: group.startsWith('spam') ? 'spam' : 'ham' });
    }
}
messages.sort((a, b) => (a.order < b.order ? -1 : 1));  // by checksum: in no order that means anything
for (const [name, part] of [['train', messages.slice(0, -validation)], ['validation', messages.slice(-validation)]]) {
    writeFileSync(join(to, `${name}.tsv`), part.map((one) => `${one.text}\t${one.label}\n`).join(''));
    writeFileSync(join(to, `${name}.txt`), part.map((one) => `${one.text}\n`).join(''));
}
