import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { migrateAsOwner } from '../../src/platform/database/open.js'
import { grantsFor } from '../../src/service/tables.js'
import { loadConfig } from '../../src/settings/config.js'
import { migrationsDirectory as directory, testServerUrl, urlFor } from '../support/databases.js'
import { type CommandStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

describe('content load', () => {
  let store: CommandStore
  let folder: string

  beforeAll(async () => {
    store = await openCommandStore()
    folder = await mkdtemp(join(tmpdir(), 'latchkey-content-'))
  })
  afterAll(async () => {
    await store.drop()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(() => store.database.query('delete from content'))

  const load = (path: string, input?: string) =>
    latchkey(store, ['content', 'load', path], input === undefined ? {} : { input })
  const pages = () => store.database.query('select slug, title, body from content order by slug')

  it('loads JSON lines, and replaces pages of the same name', async () => {
    const first =
      '{"slug":"terms","title":"Terms","body":"Old."}\n{"slug":"privacy","title":"Privacy","body":"Ours."}\n'
    expect(await load('-', first)).toMatchObject({ code: 0, out: 'Loaded 2 pages.\n' })
    expect(await load('-', '{"slug":"terms","title":"Terms","body":"New."}')).toMatchObject({
      code: 0,
      out: 'Loaded 1 page.\n',
    })
    expect(await pages()).toEqual([
      { slug: 'privacy', title: 'Privacy', body: 'Ours.' },
      { slug: 'terms', title: 'Terms', body: 'New.' },
    ])
  })

  it('loads a folder of Markdown: the name is the slug, the first heading the title', async () => {
    const markdown = join(folder, 'pages')
    await mkdir(markdown)
    await writeFile(join(markdown, 'our-terms.md'), '# Our *terms* #\r\n\r\nBe kind.\n\n## More\n')
    await writeFile(join(markdown, 'plain.md'), 'No heading here.\n')
    await writeFile(join(markdown, 'notes.txt'), 'not a page')
    expect(await load(markdown)).toMatchObject({ code: 0, out: 'Loaded 2 pages.\n' })
    expect(await pages()).toEqual([
      { slug: 'our-terms', title: 'Our *terms*', body: 'Be kind.\n\n## More\n' },
      { slug: 'plain', title: 'plain', body: 'No heading here.\n' },
    ])
  })

  it.each([
    [
      '{"slug":"ok","title":"Fine","body":""}\n{"slug":"Not OK","title":"x","body":""}',
      'line 2: the slug must have at most 100 characters: small letters, digits, and single hyphens between them',
    ],
    ['{"slug":"ok","title":"","body":""}', 'line 1: the title must be one line'],
    ['{"slug":"ok","title":"x"}', 'line 1: the body must be text'],
    ['{"slug":"ok","title":"x","body":"\\u0000"}', 'line 1: the body must be text'],
    ['nonsense', 'line 1: not valid JSON'],
  ])('loads nothing at all when one page is wrong: %s', async (input, sentence) => {
    const { code, err } = await load('-', input)
    expect(code).toBe(1)
    expect(err).toContain(sentence)
    expect(await pages()).toEqual([])
  })

  it('says so when there is nothing to load', async () => {
    const empty = join(folder, 'empty')
    await mkdir(empty)
    expect(await load(empty)).toMatchObject({ code: 1, err: `There are no .md files in ${empty}\n` })
    expect((await load(join(folder, 'nowhere'))).err).toContain('there is no such file')
    expect(await latchkey(store, ['content', 'load'])).toMatchObject({
      code: 2,
      err: 'FILE or FOLDER is missing. Try: latchkey content load --help\n',
    })
    expect(await load('-', '\n')).toMatchObject({ code: 1, err: 'There are no pages in the input.\n' })
  })

  it('says what to set when it runs as the role of the service', async () => {
    const role = `latchkey_reader_${randomBytes(6).toString('hex')}`
    const [place] = await store.database.query<{ name: string }>('select current_database() as name')
    const ownerUrl = urlFor(testServerUrl(), { database: place?.name ?? '' })
    const url = urlFor(ownerUrl, { user: role })
    await store.database.query(`create role ${role} login`)
    await migrateAsOwner({ url, ownerUrl, directory, grantsFor })
    const asService = {
      openRooms: () => openRoomsForCommand(loadConfig({ NODE_ENV: 'test', DATABASE_URL: url }), 'table owner'),
    }
    const input = '{"slug":"terms","title":"Terms","body":"New."}'
    expect(await latchkey(asService, ['content', 'load', '-'], { input })).toMatchObject({
      code: 1,
      out: '',
      err: 'This role may not write content: set DATABASE_OWNER_URL to the address with the role that owns the tables.\n',
    })
    expect(await pages()).toEqual([])
    await store.database.query(`drop owned by ${role}`)
    await store.database.query(`drop role ${role}`)
  })
})
