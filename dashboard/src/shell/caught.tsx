import { Component, type ReactNode } from 'react'
import { Page } from '../parts/page.js'

/** Where a page cannot be shown: its script is of an older version than the server, or it has a defect. The rest stays usable. */
export class CaughtProblem extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {}

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <Page title="This page could not be shown">
        <p role="alert" className="notice" data-status="dead">
          {error.message}. If the server was upgraded a moment ago, loading the page anew helps.
        </p>
        <p>
          <button type="button" className="first" onClick={() => window.location.reload()}>
            Load anew
          </button>
        </p>
      </Page>
    )
  }
}
