import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { commitOf } from './build-info.mjs'

const repository = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-commit-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  await writeFile(join(folder, 'file'), 'one')
  git('init', '--quiet')
  git('add', '.')
  git('-c', 'user.name=Test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message=first')
  return { folder, commit: git('rev-parse', 'HEAD').slice(0, 12) }
}

it('a build knows its commit, and says when files differ from it', async () => {
  const { folder, commit } = await repository()
  expect(commitOf(folder, '')).toBe(commit)
  await writeFile(join(folder, 'file'), 'two')
  expect(commitOf(folder, '')).toBe(`${commit}-dirty`)
})

it('a build without git takes the commit that it is given, and never that of a repository around it', async () => {
  const { folder } = await repository()
  const inside = join(folder, 'inside')
  await mkdir(inside)
  expect(commitOf(inside, '')).toBeUndefined()
  expect(commitOf(inside, '0123456789abcdef0123456789abcdef01234567')).toBe('0123456789ab')
})
