import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const home = fileURLToPath(new URL('../..', import.meta.url))

const mistakes = {
  'no-floating-promises': 'export const a = () => { later() }',
  'no-misused-promises': 'export const b = () => (later() ? 1 : 2)',
  'await-thenable': 'export const c = async () => { await 3 }',
  'return-await': 'export const d = async () => { try { return later() } catch { return false } }',
  'prefer-promise-reject-errors': `export const e = () => Promise.reject('text')`,
  'only-throw-error': `export const f = () => { throw 'text' }`,
  'switch-exhaustiveness-check': `export const g = (k: 'x' | 'y') => { switch (k) { case 'x': return 1 } return 2 }`,
  'no-explicit-any': 'export const h = (value: any) => String(value)',
}

// A linter that needs types is quiet when it finds none, so its silence over the project proves nothing by itself.
describe('the linter', () => {
  it('finds every planted mistake with a promise', () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-lint-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    for (const file of ['tsconfig.json', '.oxlintrc.json']) cpSync(join(home, file), join(folder, file))
    symlinkSync(join(home, 'node_modules'), join(folder, 'node_modules'))
    const later = 'const later = async (): Promise<boolean> => true'
    mkdirSync(join(folder, 'src'))
    writeFileSync(join(folder, 'src/planted.ts'), [later, ...Object.values(mistakes)].join('\n'))

    const lint = spawnSync(join(home, 'node_modules/.bin/oxlint'), ['--type-aware', '--format=json', 'src'], {
      cwd: folder,
      encoding: 'utf8',
    })

    const { diagnostics } = JSON.parse(lint.stdout) as { diagnostics: { code: string }[] }
    const found = new Set(diagnostics.map(({ code }) => /\((.*)\)/.exec(code)?.[1]))
    expect([...found]).toEqual(expect.arrayContaining(Object.keys(mistakes)))
    expect(lint.status).toBe(1)
  })
})
