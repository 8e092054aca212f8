// A form that posts here ends the session in both places
import { getToken } from 'next-auth/jwt'
import { issuer } from '../../lib/auth.js'

export const POST = async (request) => {
  const token = await getToken({ req: request })
  const leave = new URL(`${issuer}/end-session`)
  leave.searchParams.set('post_logout_redirect_uri', `${process.env.NEXTAUTH_URL}/`)
  if (token?.idToken) leave.searchParams.set('id_token_hint', token.idToken)
  const headers = new Headers({ location: leave.href })
  for (const { name } of request.cookies.getAll())
    if (name.includes('next-auth.session-token'))
      headers.append('set-cookie', `${name}=; Path=/; Max-Age=0${name.startsWith('__Secure-') ? '; Secure' : ''}`)
  return new Response(null, { status: 303, headers })
}
