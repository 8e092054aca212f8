import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitest/config'

const sources = fileURLToPath(new URL('../../src/', import.meta.url))
const compiled = fileURLToPath(new URL('../../dist/modules/', import.meta.url))

export const compiledFiles = /\/dist\/modules\//

/**
 * Node loads the sources as the build has compiled them. Vite would transform each of them, and every test process would take
 * three core seconds longer to load them.
 */
export const compiledSources = (): Plugin => ({
  name: 'compiled-sources',
  enforce: 'pre',
  async resolveId(source, importer, options) {
    const found = await this.resolve(source, importer, { ...options, skipSelf: true })
    if (!found?.id.startsWith(sources)) return found
    const file = compiled + found.id.slice(sources.length).replace(/\.ts$/, '.js')
    return existsSync(file) ? file : found
  },
})
