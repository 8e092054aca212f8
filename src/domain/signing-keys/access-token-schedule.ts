import { minutes } from '../../lib/durations.js'
import { accessTokenLifetime } from '../tokens/tokens.js'
import { createSchedule } from './schedule.js'

/** The clocks of instances may be so far apart. Expiry is written and checked by their clocks. */
const clockMargin = 5 * minutes

export const accessTokenSchedule = createSchedule({
  // Programs that check tokens know a key for 20 minutes before it signs: every instance publishes it within a minute.
  announcedFor: 20 * minutes + 1 * minutes,
  trustedAfterwards: accessTokenLifetime + clockMargin,
})
