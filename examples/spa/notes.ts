import { createClient } from '@latchkey/client'

const client = createClient()
const main = document.querySelector('main')

const show = async () => {
  const answer = await client.me()
  if (!answer.refused) return showNotes(answer.value.user.username)
  // Only this means that no user is signed in. Anything else is a problem that passes.
  if (answer.refused === 'not_authenticated')
    return showPage(`<h1>Notes</h1><a href="${client.signInUrl()}">Sign in</a>`)
  showPage('<p>Please try again in a moment.</p>')
}

const showNotes = async (username: string) => {
  const page = showPage(`<header><p></p><a href="/dashboard">Account</a><button>Sign out</button></header>
    <form><input name="text" aria-label="Note" required><button>Add</button></form><ul></ul>`)
  page('p').textContent = `Hello, ${username}`
  page('header button').onclick = () => client.logout()
  page('form').onsubmit = async (event) => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    await client.fetch('/api/notes', { method: 'POST', body: String(new FormData(form).get('text')) })
    form.reset()
    await list()
  }
  const list = async () => {
    const response = await client.fetch('/api/notes')
    if (!response.ok) return
    const notes = (await response.json()) as string[]
    page('ul').replaceChildren(
      ...notes.map((text) => Object.assign(document.createElement('li'), { textContent: text })),
    )
  }
  await list()
}

/** Replaces the page, and returns a function that finds its parts. Never put text of a user into `html`. */
const showPage = (html: string) => {
  if (main) main.innerHTML = html
  return (selector: string) => document.querySelector(`main ${selector}`) as HTMLElement
}

// A user has signed in or out, here or in another tab.
client.onChange(() => void show())
await show()
