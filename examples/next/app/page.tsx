// app/page.tsx
import Link from 'next/link'
import { latchkey } from '../latchkey'

type Props = { searchParams: Promise<{ stillSignedIn?: string }> }

export default async function Home({ searchParams }: Props) {
  const auth = await latchkey.auth()
  const { stillSignedIn } = await searchParams
  return (
    <main>
      <h1>{auth ? `Hello ${auth.user.username}` : 'Hello'}</h1>
      {stillSignedIn && <p>You are still signed in. Please try again in a minute.</p>}
      {auth ? <Link href="/notes">Your notes</Link> : <a href={latchkey.signInUrl('/notes')}>Sign in</a>}
    </main>
  )
}
