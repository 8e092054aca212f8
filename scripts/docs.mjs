// Writes the generated references from the program itself. A test fails when one of them is stale.
import { writeFile } from 'node:fs/promises'
import './build.mjs'

const root = new URL('..', import.meta.url)
const { configurationGuide, environmentExample } = await import(new URL('dist/config/guide.js', root).href)
const { openApiDocument } = await import(new URL('dist/app/openapi.js', root).href)

await writeFile(new URL('docs/configuration.md', root), configurationGuide())
await writeFile(new URL('.env.example', root), environmentExample())
await writeFile(new URL('docs/openapi.json', root), `${JSON.stringify(await openApiDocument(), null, 2)}\n`)
