import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Language } from '../contract/languages.js'
import type { DrawFirstCard, PageName, SiteLink } from '../contract/pages.js'
import { builtFile } from '../lib/home.js'

/** The words below every page. */
export type FooterWords = Record<SiteLink | 'language', string>

/** The texts of a page if scripts are switched off, or its script has not loaded. */
export type WithoutScript = Record<'noscript' | 'notComplete' | 'reload', string>

/** A page in the manifest of web/build.mjs: its files, and in each language its title and the texts for its script. */
type BuiltPage = {
  script: string
  styles: string[]
  words: Record<Language, PageWords>
}
type PageWords = {
  title: string
  withoutScript: WithoutScript
  footer: FooterWords
  sections: Record<string, unknown>
}

export type Page = BuiltPage & { drawFirstCard: (settings: Parameters<DrawFirstCard>[1]) => string }

export type PlainPageName = 'not-found' | 'too-many-requests' | 'led-back' | 'host-again' | 'host-stopped'

/** A page that the server renders completely, because the browser may have no script. `action`: the text of a link to the start page. */
export type PlainPage = {
  styles: string[]
  words: Record<Language, { title: string; heading: string; text: string; action?: string; footer: FooterWords }>
}

type Manifest<P> = { pages: Record<PageName, P>; plainPages: Record<PlainPageName, PlainPage> }
export type BuiltManifest = Manifest<BuiltPage>

type Asset = Body & { type: string }
/** The client for pages that have no build. Its name never changes, so browsers ask by its tag whether the file has changed. */
type ClientScript = Asset & { tag: string }
export type Assets = Manifest<Page> & { files: ReadonlyMap<string, Asset>; client: ClientScript }

const types: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** The pages with their words, without their files. */
export const readManifest = (folder = builtFile('web/')) =>
  JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8')) as BuiltManifest

/**
 * Reads all built files into memory, with their compressed forms: they are small and never change. They are read synchronously, which
 * takes a fraction of the time at the start, when nothing else waits.
 */
export const loadAssets = async (folder = builtFile('web/')): Promise<Assets> => {
  const manifest = readManifest(folder)
  const { drawFirstCard }: { drawFirstCard: DrawFirstCard } = await import(new URL('first-cards.js', folder).href)
  const pages = Object.fromEntries(
    Object.entries(manifest.pages).map(([name, page]) => [
      name,
      { ...page, drawFirstCard: (settings) => drawFirstCard(name as PageName, settings) } satisfies Page,
    ]),
  ) as Assets['pages']
  const files = readdirSync(new URL('assets/', folder)).flatMap((name) => {
    const type = types[name.slice(name.lastIndexOf('.') + 1)]
    return type ? [[name, readAsset(new URL(`assets/${name}`, folder), type)] as const] : []
  })
  return { ...manifest, pages, files: new Map(files), client: readClient(new URL('client.js', folder)) }
}

const readClient = (file: URL): ClientScript => {
  const asset = readAsset(file, types.js ?? '')
  // The tag is weak, because it stands for every encoding.
  return { ...asset, tag: `W/"${createHash('sha256').update(asset.plain).digest('base64url').slice(0, 22)}"` }
}

const readAsset = (file: URL, type: string): Asset => ({
  type,
  plain: readFileSync(file),
  br: readFileSync(new URL(`${file.href}.br`)),
  gzip: readFileSync(new URL(`${file.href}.gz`)),
})

/** One body in every encoding that a browser may accept. */
export type Body = { plain: Buffer; br: Buffer; gzip: Buffer }

/** A window of 64 KB, which is more than a page has. With the default of 4 MB, most of the time goes into clearing memory. */
const brotliParameters = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 16 }

export const compress = (text: string): Body => {
  const plain = Buffer.from(text)
  const br = brotliCompressSync(plain, { params: brotliParameters })
  return { plain, br, gzip: gzipSync(plain, { level: 9 }) }
}

/** Sends the smallest form that the browser accepts. No page has a secret, so compression can reveal none (BREACH). */
export const sendCompressed = (request: FastifyRequest, reply: FastifyReply, body: Body) => {
  const { 'accept-encoding': accepted = '' } = request.headers
  if (accepts(accepted, 'br')) return reply.header('content-encoding', 'br').send(body.br)
  if (accepts(accepted, 'gzip')) return reply.header('content-encoding', 'gzip').send(body.gzip)
  return reply.send(body.plain)
}

/** A weight of zero is a refusal (RFC 9110, 12.4.2). The order of the other weights is ignored, because the smallest form is sent. */
const accepts = (header: string | string[], coding: string) =>
  String(header)
    .toLowerCase()
    .split(',')
    .map((entry) => entry.replace(/\s/g, ''))
    .some((entry) => entry === coding || new RegExp(`^${coding};q=(1|0\\.0*[1-9])`).test(entry))
