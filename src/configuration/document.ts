import type { FileHandle } from 'node:fs/promises'
import { Composer, isAlias, isMap, isScalar, isSeq, LineCounter, type ParsedNode, Parser, stringify } from 'yaml'
import { whyUnreadable } from '../lib/operator-error.js'
import { beginningOf, withRegularFile } from '../lib/regular-file.js'
import { isCleanText } from '../lib/strict-json.js'
import { faultIn } from './configuration-fault.js'

/** A value of the document, with its line. */
export type Found = { line: number } & (
  | { type: 'value'; value: string | number | boolean | null }
  | { type: 'list'; items: readonly Found[] }
  | { type: 'map'; entries: ReadonlyMap<string, { keyLine: number; found: Found }> }
)

const megabyte = 1_000_000
export const longestDocument = { bytes: megabyte, text: '1 MB' }
export const longestSecretFile = { bytes: 4_096, text: '4 KB' }

const stateOf = async (file: FileHandle) => {
  const { size, mtimeMs, ctimeMs } = await file.stat()
  return { size, text: `${size} ${mtimeMs} ${ctimeMs}` }
}

type ReadFile = { bytes: Buffer } | { fault: string }

/** The file, or the end of a sentence about it. One that changes meanwhile would be half of the old one and half of the new. */
export const readFileOnce = async (path: string, longest: typeof longestDocument) => {
  const read = async (file: FileHandle): Promise<ReadFile> => {
    const before = await stateOf(file)
    if (before.size > longest.bytes) return { fault: `is larger than ${longest.text} (${before.size} bytes)` }
    const bytes = await beginningOf(file, before.size + 1)
    const after = await stateOf(file)
    return before.text === after.text && bytes.length === after.size
      ? { bytes }
      : { fault: 'has changed while it was read: try again' }
  }
  return withRegularFile(path, read).catch(
    (error: unknown): ReadFile => ({
      fault: `cannot be read (${whyUnreadable(error)})`,
    }),
  )
}

export const readWhole = async (path: string) => {
  const read = await readFileOnce(path, longestDocument)
  if ('bytes' in read) return read.bytes
  throw faultIn(path, `the file ${read.fault}`)
}

/** What YAML has and a configuration file does not: the reader of a file should see what is in it, in one place. */
const forbiddenTokens: Readonly<Record<string, string>> = {
  anchor: 'anchors (&name) are not possible here',
  alias: 'aliases (*name) are not possible here',
  tag: 'tags (!name) are not possible here',
  directive: 'directives (%YAML) are not possible here',
}

/** A level of a document is some levels of tokens. What a file can have is five levels deep. */
const maxDepth = 200

type Token = { type?: unknown; offset?: unknown }

/** Looks at the tokens before anything is put together, so that an alias cannot repeat what it stands for a million times. */
const forbiddenIn = (tokens: readonly unknown[]) => {
  const pending: { value: unknown; depth: number }[] = tokens.map((value) => ({ value, depth: 0 }))
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    const { type, offset } = value as Token
    const sentence = typeof type === 'string' ? forbiddenTokens[type] : undefined
    const fault = sentence ?? (depth > maxDepth ? 'the file is nested too deeply' : undefined)
    if (fault !== undefined) return { sentence: fault, offset: typeof offset === 'number' ? offset : 0 }
    for (const each of Object.values(value)) pending.push({ value: each, depth: depth + 1 })
  }
  return undefined
}

const decode = (path: string, bytes: Uint8Array) => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw faultIn(path, 'is not UTF-8')
  }
}

const createWalk = (path: string, lines: LineCounter) => {
  const lineOf = (node: { range?: readonly number[] | null | undefined } | null) =>
    lines.linePos(node?.range?.[0] ?? 0).line

  const keyOf = (key: unknown, line: number) => {
    const isText = isScalar(key) && key.value !== null && typeof key.value !== 'object'
    const text = isText ? (typeof key.value === 'string' ? key.value : (key.source ?? '')) : ''
    if (!isText || !isCleanText(text)) throw faultIn(path, 'a key must be a text', line)
    if (text === '<<') throw faultIn(path, 'merge keys (<<) are not possible here', line)
    return text
  }

  const walk = (node: ParsedNode | null): Found => {
    const line = lineOf(node)
    if (node === null) return { type: 'value', value: null, line }
    if (isSeq(node)) return { type: 'list', items: node.items.map((item) => walk(item as ParsedNode | null)), line }
    if (isMap(node)) {
      const entries = new Map<string, { keyLine: number; found: Found }>()
      for (const { key, value } of node.items) {
        const keyLine = lineOf(key)
        const name = keyOf(key, keyLine)
        if (entries.has(name)) throw faultIn(path, `the key ${JSON.stringify(name)} is there a second time`, keyLine)
        entries.set(name, {
          keyLine,
          found: { ...walk(value), ...(value === null && { line: keyLine }) },
        })
      }
      return { type: 'map', entries, line }
    }
    if (isAlias(node) || !isScalar(node)) throw faultIn(path, 'has something that is no text, number or list', line)
    const { value } = node
    if (typeof value === 'string' && !isCleanText(value))
      throw faultIn(path, 'a text has the character U+0000, or half of a character', line)
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return { type: 'value', value, line }
    throw faultIn(path, 'has something that is no text, number or list', line)
  }
  return walk
}

/** The only sentence of the parser's message, without the lines of the file that it repeats. */
const plainMessage = (message: string) => message.split('\n')[0] ?? message

/** Reads YAML 1.2 or JSON, which is YAML too. This file is loaded late, because it loads the parser. */
export const readDocument = (path: string, bytes: Uint8Array): Found => {
  const text = decode(path, bytes)
  const lines = new LineCounter()
  const tokens = [...new Parser(lines.addNewLine).parse(text)]
  const forbidden = forbiddenIn(tokens)
  if (forbidden) throw faultIn(path, forbidden.sentence, lines.linePos(forbidden.offset).line)
  const options = { version: '1.2', schema: 'core', merge: false, uniqueKeys: false, prettyErrors: false } as const
  const [document, ...others] = [...new Composer(options).compose(tokens)]
  if (!document?.contents) throw faultIn(path, 'the file is empty')
  if (others.length > 0) throw faultIn(path, 'the file has more than one document')
  const [fault] = [...document.errors, ...document.warnings]
  if (fault) throw faultIn(path, plainMessage(fault.message), lines.linePos(fault.pos[0]).line)
  return createWalk(path, lines)(document.contents)
}

/** A configuration file in YAML. */
export const writeDocument = (content: object) => stringify(content, { lineWidth: 0, version: '1.2' }).trimEnd()
