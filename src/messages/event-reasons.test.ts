import { expect, it } from 'vitest'
import { eventReasons, mailNames } from '../contract/events.js'
import { waysToSignIn } from '../factors/ways-to-sign-in.js'
import { limiterNames, limiters } from '../http/limiters.js'
import { mailKinds } from './mail-preview.js'

it('pages have words for every limit, every way to sign in and every mail that an event can name', () => {
  const limits = limiterNames.filter((name) => limiters[name].refusalIsEvent)
  expect(eventReasons).toEqual(expect.arrayContaining([...limits, ...Object.keys(waysToSignIn)]))
  expect([...mailNames].sort()).toEqual([...mailKinds].sort())
})
