import type { Config } from '../config.js'
import type { NounPlatform, Nouns } from './nouns.js'

/** What is made at the first start in development. */
export const createSeeding = (config: Config, platform: NounPlatform, nouns: Nouns) => async () => {
  if (config.production) return
  await nouns.content.seed()
  if (config.seedFile === undefined) return
  const { applySeedFile } = await import('./seed-file.js')
  await applySeedFile(config.seedFile, platform, nouns)
}
