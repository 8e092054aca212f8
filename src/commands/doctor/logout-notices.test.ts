import { expect, it } from 'vitest'
import { judgeLogoutNotices } from './logout-notices.js'

const why = ': `latchkey application show NAME` says why'

it.each([
  [{ waiting: 0, givenUp: 0 }, 'ok', 'no logout notice waits for an application'],
  [{ waiting: 1, givenUp: 0 }, 'ok', '1 logout notice waits for an application'],
  [{ waiting: 100, givenUp: 0 }, 'ok', '100 logout notices wait for an application'],
  [{ waiting: 101, givenUp: 0 }, 'warning', `101 logout notices wait for an application${why}`],
  [
    { waiting: 0, givenUp: 1 },
    'warning',
    `1 logout notice was given up, no logout notice waits for an application${why}`,
  ],
  [
    { waiting: 2, givenUp: 3 },
    'warning',
    `3 logout notices were given up, 2 logout notices wait for an application${why}`,
  ],
])('says of %j how many logout notices wait and were given up', (counts, level, says) => {
  expect(judgeLogoutNotices(counts)).toEqual({ level, says })
})
