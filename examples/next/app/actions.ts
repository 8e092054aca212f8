// app/actions.ts
'use server'

import { revalidatePath } from 'next/cache'
import { redirect } from 'next/navigation'
import { latchkey } from '../latchkey'
import { keepNote } from '../notes'

export const addNote = async (form: FormData) => {
  const { user } = await latchkey.requireAuth()
  keepNote(user.id, String(form.get('note')))
  revalidatePath('/notes')
}

export const signOut = async () => {
  try {
    await latchkey.signOut()
  } catch (error) {
    if (!(error instanceof Error && error.name === 'StillSignedIn')) throw error
    redirect('/?stillSignedIn=1') // Latchkey is away: the start page says so
  }
  redirect('/')
}
