import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startWithFiles } from '../support/configuration-files.js'

let files: Awaited<ReturnType<typeof startWithFiles>>
beforeAll(async () => {
  files = await startWithFiles()
})
afterAll(() => files.stop())
beforeEach(() => files.clear())

const wiki = (more: string) =>
  `applications:\n  Wiki:\n    redirect: [https://w.example/cb]\n    allow: everyone\n    ${more}\n`
const add = (...args: string[]) =>
  files.command(['application', 'add', 'Wiki', '--redirect', 'https://w.example/cb', '--everyone', ...args])

it.each([
  '0s',
  '366d',
  '400d',
  '99999d',
  '8761h',
  '525601m',
  '31536001s',
  '999999999s',
  '01m',
  '5',
  '500ms',
  '1w',
  '-1m',
  '1.5h',
])('a maxAge of %s is refused by the file, with its line, and by the command', async (age) => {
  const refused = await files.apply(wiki(`maxAge: "${age}"`))
  const sentence = 'a time such as 10m or 8h, from 1s to 365d'
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toContain(`latchkey.yaml, line 5: applications.Wiki.maxAge must be ${sentence}`)
  expect(await add(`--max-age=${age}`)).toMatchObject({
    code: 2,
    err: expect.stringContaining(`--max-age takes ${sentence}`),
  })
  expect(await files.latchkey.sql.query('select 1 from applications')).toEqual([])
})

it.each(['1s', '10m', '365d', '8760h', '525600m', '31536000s', '199d', '360d', '99d'])(
  'a maxAge of %s is possible in both',
  async (age) => {
    expect(await files.apply(wiki(`maxAge: ${age}`))).toMatchObject({ code: 0 })
    expect(await files.planned(wiki(`maxAge: ${age}`))).toEqual([])
    await files.clear()
    expect(await add('--max-age', age)).toMatchObject({ code: 0 })
  },
)

it('what a command takes can be exported and applied: the limits of lists are the same', async () => {
  const many = Array.from({ length: 101 }, (_, at) => ['--after-logout', `https://w.example/${at}`]).flat()
  expect(await add(...many)).toMatchObject({ code: 2, err: expect.stringContaining('--after-logout takes a list') })
  expect(await add(...many.slice(2))).toMatchObject({ code: 0 })
  const { out } = await files.command(['export'])
  expect(await files.apply(out)).toMatchObject({ code: 0 })
  expect(await files.apply(wiki('device: 1'))).toMatchObject({ code: 1 })
  expect(await add('--id', 'Wiki')).toMatchObject({ code: 2, err: expect.stringContaining('--id takes 1 to 63 small') })
})

it('an error that no rule has foreseen has a sentence, no stack, and changes nothing', async () => {
  const { sql } = files.latchkey
  await sql.query("alter table applications add constraint unforeseen check (name <> 'Wiki')")
  try {
    for (const way of ['--yes', '--plan']) {
      const { code, out, err } = await files.command(['apply', await files.write(wiki('')), way])
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toContain('latchkey.yaml: nothing was changed, because of an error that is a bug: please report it')
      expect(err).not.toContain('    at ')
    }
  } finally {
    await sql.query('alter table applications drop constraint unforeseen')
  }
})

it('domains are kept in small letters, each once', async () => {
  const text = 'settings: {registrationDomains: [Example.COM, example.com, b.example, EXAMPLE.com]}'
  expect(await files.apply(text)).toMatchObject({ code: 0 })
  expect(await files.latchkey.sql.query('select value from stored_settings')).toEqual([
    { value: ['example.com', 'b.example'] },
  ])
  expect(await files.planned(text)).toEqual([])
})
