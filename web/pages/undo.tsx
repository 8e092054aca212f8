import { isUndoOfEmail } from '../../src/contract/undo-tokens.js'
import { client } from '../client.js'
import { Card } from '../components/card.js'
import { Form, type Problems } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { LoadingCard } from '../components/loading-card.js'
import { MessageCard } from '../components/message-card.js'
import { PageNotLoaded } from '../components/page-not-loaded.js'
import { useLinkToken } from '../link-token.js'
import { isDeadLink, useMailedLink } from '../mailed-link.js'
import { mount } from '../mount.js'
import { useProblems } from '../refusals.js'
import { useWords } from '../settings.js'
import { fill } from '../words/format.js'

/** Nothing changes before the button is pressed: mail scanners open links too. */
const Undo = () => {
  const words = useWords('undo')
  const token = useLinkToken()
  if (token !== undefined) return <ByLink key={token} token={token} />
  return <MessageCard heading={words.title} kind="info" text={words.noLink} />
}

const ByLink = ({ token }: { token: string }) => {
  const words = useWords('undo')
  const problemsOf = useProblems()
  const { found, unasked, ending, endWith, load } = useMailedLink(() => client.checkUndo({ token }))
  const ofEmail = isUndoOfEmail(token)

  const submit = async (): Promise<Problems | undefined> => {
    const answer = await (ofEmail ? client.undoEmail : client.undoFactor)({ token })
    if (answer.refused && !isDeadLink(answer.refused)) return problemsOf(answer)
    endWith(answer.refused ? 'dead' : 'done')
    return undefined
  }

  if (ending === 'dead')
    return <MessageCard heading={words.deadHeading} kind="error" text={words.deadLink} focused={found !== undefined} />
  if (ending === 'done') {
    const text = ofEmail ? words.emailDone : words.factorDone
    return <MessageCard heading={words.doneHeading} kind="success" text={text} focused />
  }
  if (unasked) return <PageNotLoaded heading={words.title} refused={unasked} onTryAgain={load} />
  if (!found) return <LoadingCard />
  const { kind, username, email } = found
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">{fill(words.leads[kind], { username, email: email ?? '' })}</p>
      {!ofEmail && <p class="card-note">{words.consequences}</p>}
      <Form submitLabel={words.submit} onSubmit={submit}>
        <p class="card-note">{words.wasMe}</p>
      </Form>
    </Card>
  )
}

mount(Undo)
