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
  'packages/verify/src': 'logout-token-check openid-attempts openid-sessions published-keys secret-keys',
  'packages/service/src': 'webhooks',
  'packages/client/src': '',
  src: `app-replacements assets backup backup-file chooser-page cluster code-format code-text connection csrf folder-lock
    github-provider hashes id-tokens imported-compare judge-code kept-secrets key-pair key-pair keys known-devices leaked-builder
    leaked-file leaked-list loaded-application-keys logout-tokens mail-sign-ins mailed-codes migrate name-marks openid-provider
    own-postgres password-lines random recovery-codes request-ids rsa-signatures seal signature signed-token tab-cookies totp
    user-codes uuid`,
}

it.each(Object.entries(known))('cryptography is used below %s in no other files', async (folder, names) => {
  const files = await sourcesBelow(folder)
  const texts = await Promise.all(files.map(async (path) => ({ path, text: await readFile(path, 'utf8') })))
  const used = texts.filter(({ text }) => /node:crypto|crypto\.subtle/.test(text))
  expect(used.map(({ path }) => basename(path, '.ts')).sort()).toEqual(names.split(/\s+/).filter(Boolean).sort())
})
