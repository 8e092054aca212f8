import { expect, it } from 'vitest'
import { judgeLogoutNotices } from './applications.js'

const flights = { name: 'Flights', waiting: 0, oldest: 0, givenUp: 0, refused: false, refusedWith: undefined }
const hotels = { ...flights, name: 'Hotels' }
const why = '. `latchkey application show NAME` says why'

it.each([
  [[], 'ok', 'no logout notice waits for an application'],
  [[{ ...flights, waiting: 1, oldest: 300 }], 'ok', '1 logout notice waits for an application'],
  [
    [
      { ...flights, waiting: 60, oldest: 20 },
      { ...hotels, waiting: 100, oldest: 10 },
    ],
    'ok',
    '160 logout notices wait for an application',
  ],
  [
    [{ ...flights, waiting: 101, oldest: 10 }],
    'warning',
    `Flights: 101 logout notices wait, the oldest for 0 minutes${why}`,
  ],
  [
    [{ ...flights, waiting: 1, oldest: 301 }, hotels],
    'warning',
    `Flights: 1 logout notice waits, the oldest for 5 minutes${why}`,
  ],
  [
    [
      { ...flights, waiting: 2, oldest: 4000, givenUp: 3 },
      { ...hotels, waiting: 1, oldest: 2, refused: true },
    ],
    'warning',
    `Flights: 2 logout notices wait, the oldest for 66 minutes, 3 logout notices were given up; Hotels: logout notices were refused in the last day${why}`,
  ],
  [[{ ...flights, waiting: 1, oldest: 2, refusedWith: 401 }], 'warning', `Flights: notices are refused with 401${why}`],
])('says of %j which applications could not be told', (states, level, says) => {
  expect(judgeLogoutNotices(states)).toEqual({ level, says })
})
