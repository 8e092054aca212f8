import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Language } from '../../contract/languages.js'
import type { PageName } from '../../contract/pages.js'
import { builtFile } from '../../lib/home.js'
import type { Body } from './compressed.js'

/** What web/build.mjs writes about a page: its files, and in each language its title and the texts for its script. */
export type Page = {
  script: string
  styles: string[]
  words: Record<Language, { title: string; noscript: string; sections: Record<string, unknown> }>
}

/** The only page that the server renders completely, because the browser may have no script. */
export type NotFoundPage = {
  styles: string[]
  words: Record<Language, { title: string; heading: string; text: string; action: string }>
}

type Manifest = { pages: Record<PageName, Page>; notFound: NotFoundPage }

type Asset = Body & { type: string }
/** The client for pages that have no build. Its name never changes, so browsers ask by its tag whether the file has changed. */
type ClientScript = Asset & { tag: string }
export type Assets = Manifest & { files: ReadonlyMap<string, Asset>; client: ClientScript }

const types: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/**
 * Reads all built files into memory, with their compressed forms: they are small and never change. One after the other, because
 * that takes a fraction of the time at the start, when nothing else waits.
 */
export const loadAssets = (folder = builtFile('web/')): Assets => {
  const manifest = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8')) as Manifest
  const files = readdirSync(new URL('assets/', folder)).flatMap((name) => {
    const type = types[name.slice(name.lastIndexOf('.') + 1)]
    return type ? [[name, readAsset(new URL(`assets/${name}`, folder), type)] as const] : []
  })
  return { ...manifest, files: new Map(files), client: readClient(new URL('client.js', folder)) }
}

const readClient = (file: URL): ClientScript => {
  const asset = readAsset(file, types.js ?? '')
  // Weak: the same tag stands for every encoding.
  return { ...asset, tag: `W/"${createHash('sha256').update(asset.plain).digest('base64url').slice(0, 22)}"` }
}

const readAsset = (file: URL, type: string): Asset => ({
  type,
  plain: readFileSync(file),
  br: readFileSync(new URL(`${file.href}.br`)),
  gzip: readFileSync(new URL(`${file.href}.gz`)),
})
