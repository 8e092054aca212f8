import { openAsOwner } from '../platform/database/open.js'
import type { Config } from '../settings/config.js'
import type { NounPlatform, Nouns } from './nouns.js'

/** In a database of our own, the role of the service may only read content, as in a real installation. */
const seedContent = async (
  { ownDatabase, databaseOwnerUrl }: Config,
  { database }: NounPlatform,
  { content }: Nouns,
) => {
  if (!ownDatabase || databaseOwnerUrl === undefined) return content.seed(database)
  const owner = openAsOwner(databaseOwnerUrl)
  try {
    await content.seed(owner)
  } finally {
    await owner.close()
  }
}

/** Writes the first rows of a development database: the example content, and what SEED_FILE names. */
export const createSeeding = (config: Config, platform: NounPlatform, nouns: Nouns) => async () => {
  if (config.production) return
  await seedContent(config, platform, nouns)
  if (config.seedFile === undefined) return
  const { applySeedFile } = await import('./seed-file.js')
  await applySeedFile(config.seedFile, platform, nouns)
}
