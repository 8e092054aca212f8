// Generates the reference documents from the program. A test fails if one of them is out of date.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiGuide } from './api-guide.mjs'
import { build } from './build.mjs'
import { compactJson } from './compact-json.mjs'
import { forAdministrators, forPrograms, partOf } from './document-parts.mjs'
import { readmesWithExports } from './package-exports.mjs'

await build()
const root = new URL('..', import.meta.url)
const load = (/** @type {string} */ path) => import(new URL(`dist/modules/${path}`, root).href)
const { configurationGuide, environmentExample } = await load('settings/guide.js')
const { loadConfig } = await load('settings/config.js')
const { startApp } = await load('service/open-service.js')
const { propertyTables, publishedSchema } = await load('configuration/guide.js')
const { llmsText } = await load('pages/llms.js')
const { languageName, languages } = await load('contract/languages.js')
const { settings } = await load('settings/settings.js')
const { limiters } = await load('http/limiters.js')

/** Starts the service with these settings, and reads its API document and its routes. */
const readApi = async (/** @type {(folder: string) => Record<string, string>} */ settingsFor) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'latchkey-docs-'))
  const fixedSettings = { NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'error', DRAIN_DELAY: '0ms' }
  await writeFile(join(dataDir, 'service-keys'), '')
  const app = await startApp(loadConfig({ ...fixedSettings, ...settingsFor(dataDir) }), {
    onFatal: (/** @type {unknown} */ error) => {
      throw error
    },
  })
  try {
    const answer = await fetch(`${app.config.publicUrl}/api/openapi.json`)
    if (answer.status !== 200) throw new Error(`The API document was answered with ${answer.status}`)
    return { document: await answer.json(), routes: app.routes.list() }
  } finally {
    await app.close()
    await rm(dataDir, { recursive: true })
  }
}
const { document } = await readApi(() => ({ ADMIN_GROUP: '', MAIL_SIGN_IN: 'on' }))
const { document: withAdministrators, routes } = await readApi(() => ({ ADMIN_GROUP: 'admins', MAIL_SIGN_IN: 'on' }))
const { document: withPrograms } = await readApi((folder) => ({
  ADMIN_GROUP: '',
  SERVICE_KEYS_FILE: join(folder, 'service-keys'),
}))

const languageNames = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
  languages.map((/** @type {string} */ language) => languageName(language, 'en')),
)
const filesGuide = await readFile(new URL('docs/configuration-files.md', root), 'utf8')
const looksGuide = await readFile(new URL('docs/looks-and-words.md', root), 'utf8')

const files = {
  'docs/configuration.md': configurationGuide(),
  '.env.example': environmentExample(),
  'docs/api.md': apiGuide(routes, limiters, settings),
  'docs/looks-and-words.md': looksGuide.replace(/(?<=Pages are in ).*(?=, by the browser's language)/, languageNames),
  'docs/configuration-files.md': filesGuide.replace(
    /(?<=<!-- made by npm run docs -->\n\n)[\s\S]*(?=\n\n<!-- end -->)/,
    () => propertyTables(),
  ),
  'docs/configuration.schema.json': `${compactJson(publishedSchema())}\n`,
  'docs/llms.txt': llmsText(routes),
  'docs/openapi.json': `${compactJson(document)}\n`,
  'docs/openapi-admin.json': `${compactJson(partOf(withAdministrators, forAdministrators))}\n`,
  'docs/openapi-service.json': `${compactJson(partOf(withPrograms, forPrograms))}\n`,
  ...(await readmesWithExports()),
}
for (const [path, text] of Object.entries(files)) await writeFile(new URL(path, root), text)
