// Package ui is the web page that every master serves at "/": files of plain
// HTML, CSS and JavaScript modules that are built into the binary as they are.
//
//	GET /             page/index.html
//	GET /ui/NAME      page/NAME
//	GET /ui/app.js    page/app.js and all that it imports, as one module
//
// The page holds nothing of the cluster. It reads GET /v1/floor once, and what
// changes after that from GET /v1/events; see page/live.js. It asks the master
// that it came from, which passes on to the leader ("Prefer: pass-on"). Where
// the cluster has a token its reader types it in, and it stays in that tab's
// session storage.
//
// Its content security policy lets in nothing but these files, and lets no
// text become markup, whatever a task calls itself.
//
// The package imports the standard library alone and starts no goroutine.
package ui
