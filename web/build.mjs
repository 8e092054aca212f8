// Bundles the pages: one script per page, hashed names, both compressed forms, and a manifest that tells the server which
// files a page loads and what it says in each language. Also writes the client, for the pages of applications
// that have no build.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'
import { bundlePackage } from '../scripts/packages.mjs'

/** @typedef {import('./words/catalogue.js').Words} Words */
/** @typedef {import('#contract/pages.js').PageName} PageName */
/** @typedef {Record<string, Words>} Catalogue */

const home = fileURLToPath(new URL('..', import.meta.url))
/** Pages that load a style sheet of their own after `base.css`. */
const pagesWithStyle = ['dashboard', 'admin', 'device', 'authorize']
const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/** @param {{ outdir: string, minify: boolean }} options */
export const buildWeb = async ({ outdir, minify }) => {
  const { catalogue, sections, operatorCodes } = await readCatalogue()
  const names = /** @type {PageName[]} */ (Object.keys(sections))
  const { outputFiles, metafile } = await bundle(names, join(outdir, 'assets'), minify)
  refuseSchemas(metafile.inputs)
  const addressOf = addressesByEntry(metafile.outputs)
  const base = addressOf('web/styles/base.css')
  const pages = names.map((name) => {
    const script = addressOf(`web/pages/${name}.tsx`)
    const styles = [base, ...(pagesWithStyle.includes(name) ? [addressOf(`web/styles/${name}.css`)] : [])]
    return [
      name,
      { script, styles, words: wordsOf(catalogue, name, sections[name], name === 'admin' ? [] : operatorCodes) },
    ]
  })
  const [client] = await bundlePackage({ folder: 'client', entries: ['client'] }, { minify })
  if (!client) throw new Error('The bundler made nothing of the client')
  await writeAll(outdir, [...outputFiles, { path: join(outdir, 'client.js'), contents: client.contents }], {
    pages: Object.fromEntries(pages),
    plainPages: Object.fromEntries(
      /** @type {const} */ (['not-found', 'too-many-requests', 'led-back', 'host-again', 'host-stopped']).map(
        (name) => [
          name,
          {
            styles: [base],
            words: inEachLanguage(catalogue, (words) => ({ ...words[name], footer: words.footer })),
          },
        ],
      ),
    ),
  })
  await writeFile(join(outdir, 'first-cards.js'), await bundleFirstCards(minify))
}

/**
 * A page shares no file with another: split off, the shared parts were up to twenty small files for a page, and more bytes
 * than one compressed file.
 * @type {(names: PageName[], outdir: string, minify: boolean) => ReturnType<typeof build<{ metafile: true, write: false }>>}
 */
const bundle = (names, outdir, minify) =>
  build({
    absWorkingDir: home,
    entryPoints: [
      ...names.map((name) => `web/pages/${name}.tsx`),
      ...['base', ...pagesWithStyle].map((name) => `web/styles/${name}.css`),
    ],
    outdir,
    entryNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    target: ['es2022', 'chrome111', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    minify,
    metafile: true,
    write: false,
    logLevel: 'warning',
  })

/** Modules that need a browser or the service. The program that draws the first cards has stand-ins for them. */
const needBrowser = ['client', 'mount', 'settings'].map((name) => join(home, `web/browser/${name}.js`))

/** @type {import('esbuild').Plugin} */
const standIns = {
  name: 'stand-ins',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\..*\.js$/ }, ({ resolveDir, path }) =>
      needBrowser.includes(join(resolveDir, path)) ? { path: join(home, 'web/first-cards/stand-ins.ts') } : undefined,
    ),
}

/**
 * The program with which the server draws the first card of a page: the components of the pages, with their library.
 * @param {boolean} minify
 */
const bundleFirstCards = async (minify) => {
  const { outputFiles } = await build({
    absWorkingDir: home,
    entryPoints: ['web/first-cards/first-cards.tsx'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    plugins: [standIns],
    inject: ['web/first-cards/no-browser.ts'],
    define: { 'globalThis.PublicKeyCredential': 'PublicKeyCredential' },
    legalComments: 'none',
    minify,
    write: false,
    logLevel: 'warning',
  })
  const [file] = outputFiles
  if (!file) throw new Error('The bundler made nothing of the first cards')
  return file.contents
}

/**
 * The library of the schemas is larger than any page. A page imports types of the contract, and values of files without schemas.
 * @param {import('esbuild').Metafile['inputs']} inputs
 */
const refuseSchemas = (inputs) => {
  const importers = Object.entries(inputs).flatMap(([path, { imports }]) =>
    !path.includes('node_modules') && imports.some((each) => each.path.includes('/typebox/')) ? [path] : [],
  )
  if (importers.length > 0) throw new Error(`Pages must not load schemas, and they load ${importers.join(', ')}`)
}

/**
 * The catalogue is TypeScript, so it is bundled in memory and read from there.
 * @returns {Promise<Pick<typeof import('./words/catalogue.js'), 'catalogue' | 'sections' | 'operatorCodes'>>}
 */
const readCatalogue = async () => {
  const { outputFiles } = await build({
    absWorkingDir: home,
    entryPoints: ['web/words/catalogue.ts'],
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'warning',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')}`)
}

/**
 * @template Part
 * @param {Catalogue} catalogue
 * @param {(words: Words) => Part} pick
 */
const inEachLanguage = (catalogue, pick) =>
  Object.fromEntries(Object.entries(catalogue).map(([language, words]) => [language, pick(words)]))

/** The texts that the server shows while the script of a page is missing. @param {Words['common']} common */
const textsWithoutScript = ({ noscript, notComplete, reload }) => ({ noscript, notComplete, reload })

/** @type {(section: object, codes: readonly string[]) => object} */
const without = (section, codes) =>
  Object.fromEntries(Object.entries(section).filter(([code]) => !codes.includes(code)))

/**
 * `needless`: the codes of refusals that the page cannot get.
 * @type {(catalogue: Catalogue, page: PageName, parts: readonly (keyof Words)[], needless: readonly string[]) => Record<string, unknown>}
 */
const wordsOf = (catalogue, page, parts, needless) =>
  inEachLanguage(catalogue, (words) => ({
    title: words[page].title,
    withoutScript: textsWithoutScript(words.common),
    footer: words.footer,
    sections: Object.fromEntries(
      parts.map((part) => [part, part === 'refusals' ? without(words[part], needless) : words[part]]),
    ),
  }))

/**
 * The address of the file that an entry point has become.
 * @param {import('esbuild').Metafile['outputs']} outputs
 */
const addressesByEntry = (outputs) => (/** @type {string} */ entryPoint) => {
  const found = Object.entries(outputs).find(([, output]) => output.entryPoint === entryPoint)
  if (!found) throw new Error(`The bundler made nothing of ${entryPoint}`)
  return `/api/auth/assets/${basename(found[0])}`
}

/** @type {(outdir: string, files: { path: string, contents: Uint8Array }[], manifest: unknown) => Promise<void>} */
const writeAll = async (outdir, files, manifest) => {
  await rm(outdir, { recursive: true, force: true })
  await mkdir(join(outdir, 'assets'), { recursive: true })
  await Promise.all(files.map(({ path, contents }) => writeCompressed(path, contents)))
  await writeFile(join(outdir, 'manifest.json'), JSON.stringify(manifest))
}

/** @type {(path: string, contents: Uint8Array) => Promise<void>} */
const writeCompressed = async (path, contents) => {
  const [br, gz] = await Promise.all([
    brotli(contents, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: contents.length } }),
    zip(contents, { level: 9 }),
  ])
  await Promise.all([writeFile(path, contents), writeFile(`${path}.br`, br), writeFile(`${path}.gz`, gz)])
}
