import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../lib/caught.js'
import { countText, isOneLine } from '../../lib/text.js'
import type { NewContent } from '../../pages/content.js'
import { type CommandContext, CommandFailure, command } from '../command.js'
import { asText, cannotRead, createJsonLinesReader, type JsonLine, openInput } from './input.js'

const longestPage = 10_000_000
const slugShape = /^[a-z0-9]+(-[a-z0-9]+)*$/
const longestSlug = 100
const heading = /^\s*#[ \t]+(.+?)[ \t]*#*[ \t]*(?:\r?\n|$)/

const checkPage = (page: { slug: unknown; title: unknown; body: unknown }, place: string): NewContent => {
  const { slug, title, body } = page
  if (typeof slug !== 'string' || !slugShape.test(slug) || slug.length > longestSlug)
    throw new CommandFailure(
      `${place}: the slug must have at most ${longestSlug} characters: small letters, digits, and single hyphens between them`,
    )
  if (typeof title !== 'string' || title.trim() === '' || !isOneLine(title))
    throw new CommandFailure(`${place}: the title must be one line of text`)
  if (typeof body !== 'string' || body.includes('\0')) throw new CommandFailure(`${place}: the body must be text`)
  return { slug, title, body }
}

const pageFrom = (line: JsonLine) => {
  if ('fault' in line) throw new CommandFailure(`line ${line.line}: ${line.fault}`)
  const { slug, title, body } = line.value
  return checkPage({ slug, title, body }, `line ${line.line}`)
}

const fromJsonLines = async (path: string, context: CommandContext) => {
  const reader = createJsonLinesReader({ maximumLength: longestPage })
  const pages: NewContent[] = []
  const { bytes } = await openInput(path, context)
  for await (const { text } of asText(bytes)) pages.push(...reader.push(text).map(pageFrom))
  pages.push(...reader.end().map(pageFrom))
  if (pages.length === 0)
    throw new CommandFailure(path === '-' ? 'There are no pages in the input.' : `There are no pages in ${path}`)
  return pages
}

/** `privacy-notice.md` is the page `privacy-notice`. If the text begins with a heading, that is the title, and the rest is the body. */
const fromMarkdown = async (folder: string, file: string) => {
  const text = await readFile(join(folder, file), 'utf8')
  const slug = file.replace(/\.md$/, '')
  const title = heading.exec(text)?.[1]
  return checkPage({ slug, title: title ?? slug, body: title ? text.replace(heading, '').trimStart() : text }, file)
}

const fromFolder = async (folder: string) => {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.md')).sort()
  if (files.length === 0) throw new CommandFailure(`There are no .md files in ${folder}`)
  return Promise.all(files.map((file) => fromMarkdown(folder, file)))
}

const isFolder = async (path: string) => {
  if (path === '-') return false
  const status = await stat(path).catch((error: unknown) => {
    throw cannotRead(path, error)
  })
  return status.isDirectory()
}

// 42501 is “insufficient privilege”: the role of the service may only read content.
const explainPrivilege = (error: unknown): never => {
  if (codeOf(error) !== '42501') throw error
  throw new CommandFailure(
    'This role may not write content: set DATABASE_OWNER_URL to the address with the role that owns the tables.',
  )
}

export const contentLoad = command({
  summary: 'Load the pages that signed-in users may read',
  help: `latchkey content load FILE|FOLDER [--json]

Adds pages for signed-in users, and replaces those with the same slug. If one page is invalid, nothing is changed.
A FILE (or - for standard input) has one JSON object on each line: {"slug": "…", "title": "…", "body": "…"}. In a FOLDER,
every .md file is a page: the name of the file is the slug, and the heading with which it begins is the title.

Runs as the owner of the tables (DATABASE_OWNER_URL): the service's own role may only read content.`,
  json: '{"pages": …}',
  args: ['FILE or FOLDER'],
  role: 'table owner',
  read: async ({ args: [path], context }) => ({
    pages: (await isFolder(path)) ? await fromFolder(path) : await fromJsonLines(path, context),
  }),
  run: async ({ database, content, events }, { pages, operator }) => {
    const loading = database.transaction(async (sql) => {
      for (const page of pages) await content.save(sql, page)
    })
    await loading.catch(explainPrivilege)
    const pagesText = countText(pages.length, 'page')
    await events.record({ kind: 'content_loaded', reason: pagesText }, operator)
    return { json: { pages: pages.length }, text: `Loaded ${pagesText}.` }
  },
})
