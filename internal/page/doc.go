// Package page lays a report.Document out as one HTML file: no request to
// anywhere, readable with scripts off, the same bytes for the same run.
//
// All tables and charts stand in the HTML, the charts as SVG drawn here. A
// script adds choosing: another configuration of the curve, a reading at a
// window, the sliders of the decision. What it draws is what is drawn here
// (curve.go and drawCurve in page.js), and a test holds the two to the same
// bytes. Sentences and tables are those of the package report; nothing is
// counted or stated here.
//
// Start with Write. page.html has the order of things, page.css how they look.
package page
