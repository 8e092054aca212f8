import { useState } from 'preact/hooks'
import { isUndoOfEmail } from '../../src/contract/undo-tokens.js'
import { client } from '../client.js'
import { Card } from '../components/card.js'
import { Form, type Problems } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { Notice } from '../components/notice.js'
import { useLinkToken } from '../link-token.js'
import { mount } from '../mount.js'
import { forgetToken } from '../navigation.js'
import { useProblems } from '../refusals.js'
import { useWords } from '../settings.js'

/** Nothing changes before the button is pressed: mail scanners open links too. */
const Undo = () => {
  const token = useLinkToken()
  return token === undefined ? <NoLink /> : <ByLink key={token} token={token} />
}

const NoLink = () => {
  const words = useWords('undo')
  const common = useWords('common')
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={words.title} />
      <Notice kind="info">{words.noLink}</Notice>
    </Card>
  )
}

const ByLink = ({ token }: { token: string }) => {
  const words = useWords('undo')
  const problemsOf = useProblems()
  const [state, setState] = useState<'waiting' | 'done' | 'dead'>('waiting')
  const ofEmail = isUndoOfEmail(token)

  const submit = async (): Promise<Problems | undefined> => {
    const answer = await (ofEmail ? client.undoEmail : client.undoFactor)({ token })
    const isDead = answer.refused === 'invalid_link' || answer.refused === 'bad_request'
    if (answer.refused && !isDead) return problemsOf(answer)
    forgetToken()
    setState(isDead ? 'dead' : 'done')
    return undefined
  }

  if (state === 'done') return <Done ofEmail={ofEmail} />
  if (state === 'dead') return <DeadLink />
  return (
    <Card>
      <Heading text={words.heading} />
      <p class="lead">{ofEmail ? words.emailLead : words.factorLead}</p>
      <Form submitLabel={words.submit} onSubmit={submit}>
        <p class="card-note">{words.wasMe}</p>
      </Form>
    </Card>
  )
}

const Done = ({ ofEmail }: { ofEmail: boolean }) => {
  const words = useWords('undo')
  const common = useWords('common')
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={words.doneHeading} focused />
      <Notice kind="success">{ofEmail ? words.emailDone : words.factorDone}</Notice>
    </Card>
  )
}

const DeadLink = () => {
  const words = useWords('undo')
  const common = useWords('common')
  return (
    <Card footer={<a href="/login">{common.backToLogin}</a>}>
      <Heading text={words.deadHeading} focused />
      <Notice kind="error">{words.deadLink}</Notice>
    </Card>
  )
}

mount(Undo)
