import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readOperatorFile } from './operator-files.js'

describe('a file of the operator', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'operator-file-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  const read = (path: string) => readOperatorFile('WORDS_FILE', path, (value) => value)
  const written = async (content: string | Uint8Array) => {
    const path = join(folder, 'words.json')
    await writeFile(path, content)
    return path
  }

  it('may begin with a byte order mark, and have a key again in another object', async () => {
    expect(await read(await written('\ufeff{"a": {"b": "}"}, "b": [{"b": 1}, {"b": 2}]}'))).toMatchObject({
      b: [{}, {}],
    })
  })

  it.each<[string, string | Uint8Array, string]>([
    ['a key twice', '{\n  "a": {"b": 1},\n  "\\u0061": 2\n}', 'has the key "a" a second time at line 3, column 3'],
    ['a key twice inside', '[{"x": 1}, {"x": "{", "x": 3}]', 'has the key "x" a second time at line 1, column 23'],
    ['__proto__', '{\n"__proto__" : {}}', 'has the key "__proto__", which is not known, at line 2, column 1'],
    ['constructor', '{"constructor": {}}', 'has the key "constructor", which is not known, at line 1, column 2'],
    ['a NUL', '{"a":\n "b\\u0000"}', 'has the character \\u0000 in the text at line 2, column 2'],
    [
      'half a character',
      '{"a": "\\ud83d"}',
      'has half of a character that needs two \\u escapes in the text at line 1',
    ],
    [
      'another encoding',
      Buffer.from('{\n"a": "Grüezi"}', 'latin1'),
      'is not UTF-8 at line 2, column 9: save it as UTF-8',
    ],
    ['UTF-16', Buffer.from('\ufeff{}', 'utf16le'), 'is not UTF-8 at line 1, column 1'],
    ['a character that is cut off', Buffer.from('"é').subarray(0, 2), 'is not UTF-8 at line 1, column 2'],
    ['no JSON', '{\n  "a": 1,\n}', 'is no JSON: Expected double-quoted property name in line 3'],
    ['nothing', '', 'is no JSON: Unexpected end of JSON input'],
  ])('with %s is refused with its place', async (_, content, sentence) => {
    const path = await written(content)
    await expect(read(path)).rejects.toThrow(`WORDS_FILE: ${path} ${sentence}`)
  })

  it('that is too large, or is no file, is refused with the reason', async () => {
    const path = await written('')
    await truncate(path, 3_000_000_000)
    await expect(read(path)).rejects.toThrow(`${path} is larger than 4 MB (3000000000 bytes)`)
    await expect(read(folder)).rejects.toThrow(`the file cannot be read: ${folder} (it is a folder)`)
    await expect(read(join(folder, 'none'))).rejects.toThrow('(there is no such file)')
  })
})
