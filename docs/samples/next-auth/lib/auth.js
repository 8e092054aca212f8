import { getServerSession } from 'next-auth'
import { hasEnded } from './ended.js'

export const issuer = process.env.LATCHKEY_ISSUER
/** In seconds. Groups are those of the sign-in: after this time the user signs in again. */
const longest = 60 * 60

export const authOptions = {
  providers: [
    {
      id: 'latchkey',
      name: 'Latchkey',
      type: 'oauth',
      wellKnown: `${issuer}/.well-known/openid-configuration`,
      clientId: process.env.LATCHKEY_ID,
      clientSecret: process.env.LATCHKEY_SECRET,
      idToken: true,
      checks: ['pkce', 'state', 'nonce'],
      authorization: { params: { scope: 'openid profile email groups' } },
      profile: ({ sub, preferred_username, email, groups }) => ({ id: sub, name: preferred_username, email, groups }),
    },
  ],
  callbacks: {
    jwt: ({ token, user, profile, account }) =>
      user
        ? { ...token, groups: user.groups, sid: profile.sid, signedInAt: profile.iat, idToken: account.id_token }
        : token,
    session: ({ session, token: { sub, groups, sid, signedInAt } }) => ({
      user: { ...session.user, id: sub, groups },
      sid,
      signedInAt,
    }),
  },
}

export const currentUser = async () => {
  const session = await getServerSession(authOptions)
  if (!session || Date.now() / 1000 > session.signedInAt + longest) return undefined
  return (await hasEnded(session)) ? undefined : session.user
}
