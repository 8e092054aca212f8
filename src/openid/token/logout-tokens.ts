import { randomUUID } from 'node:crypto'
import type { ApplicationAlgorithm, SignToken } from '../../keys/signed-token.js'
import type { Clock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'

const lifetime = 2 * minutes
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

type NewLogoutToken = { application: { id: string; algorithm: ApplicationAlgorithm }; sid: string; userId: string }

type Dependencies = { applicationKeys: { sign: SignToken }; clock: Clock; issuer: string }

/** Logout tokens (OpenID Connect Back-Channel Logout 2.4). Each attempt to tell an application has its own token, with a new `jti`. */
export const createLogoutTokens = ({ applicationKeys, clock, issuer }: Dependencies) => ({
  issue: ({ application, sid, userId }: NewLogoutToken) => {
    const iat = Math.floor(clock.now().getTime() / seconds)
    const claims = {
      iss: issuer,
      aud: application.id,
      sub: userId,
      sid,
      iat,
      exp: iat + lifetime / seconds,
      jti: randomUUID(),
      events: { [logoutEvent]: {} },
    }
    return applicationKeys.sign(application.algorithm, { typ: 'logout+jwt', claims })
  },
})
