import { expect, it } from 'vitest'
import { eventReasons, mailNames } from '../../contract/event-reasons.js'
import { limiterNames, limiters } from '../limiters/limiters.js'
import { mailKinds } from '../mails/mail-examples.js'
import { waysToSignIn } from '../sign-in/ways-to-sign-in.js'

it('pages have words for every limit, every way to sign in and every mail that an event can name', () => {
  const limits = limiterNames.filter((name) => limiters[name].refusalIsEvent)
  expect(eventReasons).toEqual(expect.arrayContaining([...limits, ...Object.keys(waysToSignIn)]))
  expect([...mailNames].sort()).toEqual([...mailKinds].sort())
})
