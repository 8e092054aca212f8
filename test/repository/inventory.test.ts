import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const home = fileURLToPath(new URL('../..', import.meta.url))

const sourcesBelow = async (folder: string) => {
  const files = await readdir(join(home, folder), { recursive: true })
  return files
    .filter((file) => /\.ts$/.test(file) && !file.endsWith('.test.ts'))
    .map((file) => join(home, folder, file))
}

/** The files that use cryptography. Whoever adds one says in docs/audit.md what for, with which algorithm and key. */
const known = {
  'packages/verify/src': 'keys logout-notices openid-attempts openid-sessions published-keys',
  'packages/service/src': 'webhooks',
  'packages/client/src': '',
  src: `assets backup backup-file bcrypt.worker cluster codes connection csrf device-proofs errors folder-lock github-provider hashes host-sessions id-tokens
    kept-secrets key-pair known-devices leaked-builder leaked-list mail-sign-ins mailed-codes migrate openid-provider
    own-postgres password-lines people random recovery-codes seal signed-token tab-cookies totp user-codes usernames uuid
    webhooks`,
}

it.each(Object.entries(known))('cryptography is used below %s in no other files', async (folder, names) => {
  const files = await sourcesBelow(folder)
  const texts = await Promise.all(files.map(async (path) => ({ path, text: await readFile(path, 'utf8') })))
  const used = texts.filter(({ text }) => /node:crypto|crypto\.subtle/.test(text))
  expect(used.map(({ path }) => basename(path, '.ts')).sort()).toEqual(names.split(/\s+/).filter(Boolean).sort())
})
