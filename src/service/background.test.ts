import { expect, it } from 'vitest'
import { createLog } from '../platform/log.js'
import { loadConfig } from '../settings/config.js'
import { loadDatabase } from './background.js'

const load = async () => undefined
const rooms = {
  sealedValues: { reseal: async () => 2 },
  loadedKeys: { load },
  endedSessions: { load },
  webhooks: { subscribe: load },
  administrators: { missingGroups: async () => [] },
}
const ungatedDatabase = { query: async () => [], transaction: load, ping: load, close: load } as never

it.each([
  ['JWT_SECRET', {}],
  ['SEALING_KEY', { SEALING_KEY: 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4' }],
])('says that stored secrets are sealed with %s, the setting that has the key', async (setting, settings) => {
  const lines: string[] = []
  const log = createLog({ level: 'info', destination: { write: (line: string) => lines.push(line) } })
  await loadDatabase(loadConfig(settings), { ungatedDatabase, log }, rooms)
  expect(lines.join()).toContain(`stored secrets were sealed again with the first ${setting}"`)
})
