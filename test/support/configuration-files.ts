import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigurationChange } from '#contract/configuration.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { type Latchkey, startLatchkey } from './latchkey.js'
import { latchkey as run } from './terminal.js'

export const secretOne = 'a-secret-of-the-wiki-0123456789-abcdef'
export const secretTwo = 'the-next-secret-of-the-wiki-0123456789'

type RunOptions = Parameters<typeof run>[2]

/** A service, a folder for configuration files, and the commands that apply them. */
export const startWithFiles = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-configuration-'))
  const latchkey: Latchkey = await startLatchkey({
    settings: { JWT_SECRET: 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO', ADMIN_GROUP: 'admins' },
  })
  const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
  const command = (args: string[], options?: RunOptions) => run(store, args, options)
  const write = async (text: string, name = 'latchkey.yaml') => {
    const path = join(folder, name)
    await writeFile(path, text)
    return path
  }
  const apply = async (text: string, ...args: string[]) => command(['apply', await write(text), '--yes', ...args])
  const planned = async (text: string, ...args: string[]) => {
    const { out, err } = await command(['apply', await write(text), '--plan', '--json', ...args])
    if (out === '') throw new Error(err)
    return (JSON.parse(out) as { changes: ConfigurationChange[] }).changes
  }
  return {
    folder,
    latchkey,
    store,
    command,
    write,
    apply,
    planned,
    planText: async (text: string, ...args: string[]) =>
      (await command(['apply', await write(text), '--plan', ...args])).out,
    shown: async (name: string) => JSON.parse((await command(['application', 'show', name, '--json'])).out),
    clear: async () => {
      for (const table of ['applications', 'resources', 'groups', 'stored_settings', 'configuration_files'])
        await latchkey.sql.query(`delete from ${table}`)
    },
    stop: async () => {
      await latchkey.stop()
      await rm(folder, { recursive: true })
    },
  }
}
