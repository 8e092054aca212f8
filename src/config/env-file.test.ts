import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readEnvFile } from './env-file.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-env-'))
})
afterAll(() => rm(folder, { recursive: true }))

const read = async (text: string) => {
  const path = join(folder, '.env')
  await writeFile(path, text)
  const { values, faults } = readEnvFile(path)
  return { values, faults: faults.map((fault) => fault.replace(path, '.env')) }
}

it('reads names and values, comments, quotes and values of several lines', async () => {
  const text = "# settings\r\nA=1\r\n\nexport B = \"two # 2\" # more\nC='x\ny z\n'\nD=it's\nE=\n"
  const values = { A: '1', B: 'two # 2', C: 'x\ny z\n', D: "it's", E: '' }
  expect(await read(text)).toEqual({ values, faults: [] })
})

it('names the line that it cannot read, and never repeats it', async () => {
  expect((await read('A=1\nJWT_SECRET s3cret\nmy name=x\n\nB="s3cret\nC=2\n')).faults).toEqual([
    '.env, line 2: must be of the form NAME=value',
    '.env, line 3: must be of the form NAME=value',
    '.env, line 5: the " before the value is never closed',
  ])
})

it('tells a file that cannot be read from one that is not there', async () => {
  expect(readEnvFile(join(folder, 'none'))).toEqual({ values: {}, faults: [] })
  expect(readEnvFile(folder).faults).toEqual([`${folder}: the file cannot be read (it is a folder)`])
  await read('A=1')
  await chmod(join(folder, '.env'), 0)
  // Root may read every file.
  const expected = process.getuid?.() === 0 ? [] : ['.env: the file cannot be read (this user may not read it)']
  expect(readEnvFile(join(folder, '.env')).faults.map((fault) => fault.replace(`${folder}/`, ''))).toEqual(expected)
})
