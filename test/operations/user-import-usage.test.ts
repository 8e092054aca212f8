import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

describe('user import, called wrongly', () => {
  it.each([
    [['user', 'import'], 2, 'FILE is missing'],
    [['user', 'import', 'a', 'b'], 2, 'one argument too many'],
    [['user', 'import', 'a', '--format', 'xml'], 2, '--format takes csv or jsonl'],
    [['user', 'import', 'a', '--salted-hex', 'md5'], 2, '--salted-hex takes better-auth or node'],
    [['user', 'import', 'a', '--fromat', 'csv'], 2, "Unknown option '--fromat'"],
    [['user', 'import', '/nowhere/at/all.csv'], 1, 'there is no such file'],
    [['user', 'import', tmpdir()], 1, 'it is a folder'],
  ])('says what is wrong with %j', async (args, code, sentence) => {
    const answer = await latchkey(noStore, args)
    expect(answer.code).toBe(code)
    expect(answer.err).toContain(sentence)
  })

  it('explains itself', async () => {
    const { code, out } = await latchkey(noStore, ['user', 'import', '--help'])
    expect(code).toBe(0)
    expect(out).toContain('--dry-run')
  })
})
