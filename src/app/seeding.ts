import type { Config } from '../config.js'
import type { NounPlatform, Nouns } from './nouns.js'

/** Writes the first rows of a development database: the example content, and what SEED_FILE names. */
export const createSeeding = (config: Config, platform: NounPlatform, nouns: Nouns) => async () => {
  if (config.production) return
  await nouns.content.seed()
  if (config.seedFile === undefined) return
  const { applySeedFile } = await import('./seed-file.js')
  await applySeedFile(config.seedFile, platform, nouns)
}
