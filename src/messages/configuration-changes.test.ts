import { expect, it } from 'vitest'
import { changesInMail } from './configuration-changes.js'

const long = (host: string, at = 0) => `https://${host}/${'a'.repeat(1_500)}${at}`

it('shows what was added and removed whole, and how many stay', () => {
  const kept = ['https://wiki.example/1', 'https://wiki.example/2']
  const changes = changesInMail(
    { redirect: [...kept, 'https://wiki.example/old'], factors: 2, allow: ['staff'] },
    { redirect: [...kept, long('evil.example')], factors: 1, allow: 'everyone' },
  )
  expect(changes).toEqual({
    added: `redirect: ${long('evil.example')}; allow: everyone`,
    removed: 'redirect: https://wiki.example/old; allow: staff',
    before: 'factors: 2',
    after: 'factors: 1',
    kept: 'redirect (2)',
    isShortened: false,
  })
})

it('names every host once if what was added is too long to show', () => {
  const added = [
    ...Array.from({ length: 98 }, (_, at) => long('wiki.example', at)),
    'com.example.app:/x',
    long('evil.example'),
  ]
  expect(changesInMail({ redirect: [] }, { redirect: added })).toMatchObject({
    added: 'redirect (100): https://wiki.example, com.example.app:/x, https://evil.example',
    isShortened: true,
  })
})

it('shows the end of a host that is too long to exist, and where a name before an @ leads', () => {
  const hosts = [
    `https://${'wiki.'.repeat(300)}evil.example/`,
    ...Array.from({ length: 6 }, (_, at) => long('u@wiki.example', at)),
  ]
  const { added = '' } = changesInMail({ redirect: [] }, { redirect: hosts })
  expect(added).toMatch(/…[wiki.]{241}evil\.example, https:\/\/wiki\.example$/)
})

it('shows a thing that was added or deleted, and a setting without a value', () => {
  expect(changesInMail(undefined, { redirect: ['https://a.example/'], allow: 'everyone' })).toMatchObject({
    added: 'redirect: https://a.example/',
    before: undefined,
    after: 'allow: everyone',
  })
  expect(changesInMail({ value: undefined }, { value: ['example.com'] })).toMatchObject({ added: 'value: example.com' })
  expect(changesInMail({ value: 'open' }, { value: undefined })).toMatchObject({
    before: 'value: open',
    after: 'value: -',
  })
})
