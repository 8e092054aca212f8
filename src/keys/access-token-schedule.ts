import { minutes } from '../lib/durations.js'
import { accessTokenLifetime } from '../sessions/tokens.js'
import { createSchedule } from './schedule.js'

/** How much the clocks of instances may differ. Expiry is written and checked by their clocks. */
const clockMargin = 5 * minutes

export const accessTokenSchedule = createSchedule({
  // Programs that check tokens know a key for 20 minutes before it signs, because every instance publishes it within a minute.
  announcedFor: 20 * minutes + 1 * minutes,
  trustedAfterwards: accessTokenLifetime + clockMargin,
})
