import { expect, it, onTestFinished } from 'vitest'
import { type Change, createPresence } from './presence.js'

/** A page has a document, and Node has none. What this tab and another one hear. */
const openTabs = () => {
  Object.assign(globalThis, { document: new EventTarget() })
  const other = new BroadcastChannel('latchkey')
  onTestFinished(() => {
    other.close()
    Reflect.deleteProperty(globalThis, 'document')
  })
  const heard: Change[] = []
  const presence = createPresence(() => undefined)
  presence.onChange((change) => heard.push(change))
  return { heard, other, presence }
}

const ada = { id: '0198c0de-0000-7000-8000-000000000001', username: 'ada' }

it('believes messages of exactly the form that other tabs send, and drops all others', async () => {
  const { heard, other } = openTabs()
  const odd = [
    0,
    'ada',
    true,
    [],
    [ada],
    {},
    { id: ada.id },
    { ...ada, id: 1 },
    { ...ada, id: '' },
    { ...ada, username: { toString: 'ada' } },
    { ...ada, username: 'x'.repeat(129) },
    { ...ada, role: 'admin' },
    new Map(Object.entries(ada)),
  ]
  for (const message of [...odd, ada, ...odd, null]) other.postMessage(message)
  await expect
    .poll(() => heard)
    .toEqual([
      { change: 'signed_in', user: ada, by: 'other_tab' },
      { change: 'signed_out', user: null, by: 'other_tab' },
    ])
})

it('tells of a new name: in the tab that changed it, in other tabs, and by an answer', async () => {
  const { heard, other, presence } = openTabs()
  const told: unknown[] = []
  other.addEventListener('message', ({ data }: MessageEvent<unknown>) => told.push(data))
  const [renamed, again] = ['lovelace', 'countess'].map((username) => ({ ...ada, username }))
  presence.asking()(ada)
  presence.asking()(ada)
  presence.asking()(renamed ?? null, 'this_tab')
  await expect.poll(() => heard).toEqual([{ change: 'renamed', user: renamed, by: 'this_tab' }])
  // The first answer is no change here, and other tabs may have known otherwise.
  await expect.poll(() => told).toEqual([ada, renamed])
  other.postMessage(again)
  await expect.poll(() => heard[1]).toEqual({ change: 'renamed', user: again, by: 'other_tab' })
  presence.asking()(ada)
  await expect.poll(() => heard[2]).toEqual({ change: 'renamed', user: ada, by: 'answer' })
})

it('does not believe an answer to a question from before a change, and tells no other tab of it', async () => {
  const { heard, other, presence } = openTabs()
  const told: unknown[] = []
  other.addEventListener('message', ({ data }: MessageEvent<unknown>) => told.push(data))
  const [ofNewTab, answer] = [presence.asking(), presence.asking()]
  other.postMessage(null)
  await expect.poll(() => heard).toEqual([{ change: 'signed_out', user: null, by: 'other_tab' }])
  ofNewTab(ada)
  presence.asking()(ada, 'this_tab')
  presence.asking()(null, 'this_tab')
  answer(ada)
  await expect.poll(() => told).toEqual([ada, null])
  expect(heard.map(({ change }) => change)).toEqual(['signed_out', 'signed_in', 'signed_out'])
})
