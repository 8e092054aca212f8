// app/notes/page.tsx
import { latchkey } from '../../latchkey'
import { notesOf } from '../../notes'
import { addNote, signOut } from '../actions'

export default async function Notes() {
  const { user } = await latchkey.requireAuth()
  return (
    <main>
      <h1>Notes of {user.username}</h1>
      <ul>
        {notesOf(user.id).map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
      <form action={addNote}>
        <input name="note" aria-label="Note" required />
        <button type="submit">Add</button>
      </form>
      <form action={signOut}>
        <button type="submit">Sign out</button>
      </form>
    </main>
  )
}
